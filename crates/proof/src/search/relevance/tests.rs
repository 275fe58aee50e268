use super::*;

fn hit(sku: &str) -> Hit {
    (String::from("demo-store"), sku.to_owned())
}

fn judged(grades: &[(&str, u8)]) -> Vec<Judgement> {
    let judgement = |&(sku, grade): &(&str, u8)| {
        let (store, sku) = hit(sku);
        Judgement { store, sku, grade }
    };
    grades.iter().map(judgement).collect()
}

fn ndcg(ranking: &[&str], grades: &[(&str, u8)]) -> f64 {
    let ranking: Vec<Hit> = ranking.iter().map(|sku| hit(sku)).collect();
    ndcg_at_10(&ranking, &judged(grades))
}

#[track_caller]
fn assert_close(found: f64, expected: f64) {
    assert!((found - expected).abs() < 5e-5, "{found} is not {expected}");
}

#[test]
fn the_ideal_order_scores_one_and_no_relevant_hit_zero() {
    let grades = [("a", 3), ("b", 2), ("c", 1)];
    assert_close(ndcg(&["a", "b", "c"], &grades), 1.0);
    assert_close(ndcg(&["a", "b", "c", "x", "y"], &grades), 1.0);
    assert_close(ndcg(&["x", "y"], &grades), 0.0);
    assert_close(ndcg(&[], &grades), 0.0);
    assert_close(ndcg(&["a"], &[]), 0.0);
}

#[test]
fn gains_grow_with_the_grade_and_shrink_with_the_rank() {
    let grades = [("a", 3), ("b", 2), ("c", 1)];
    // The best: 7 / log2(2) + 3 / log2(3) + 1 / log2(4) = 7 + 1.892789 + 0.5 = 9.392789.
    // c, b, a: 1 + 1.892789 + 7 / 2 = 6.392789.
    assert_close(ndcg(&["c", "b", "a"], &grades), 0.680_606);
    // x, a: 7 / log2(3) = 4.416508.
    assert_close(ndcg(&["x", "a"], &grades), 0.470_202);
    // One product at rank ten: 1 / log2(11) = 0.289065.
    let tenth = ["1", "2", "3", "4", "5", "6", "7", "8", "9", "a"];
    assert_close(ndcg(&tenth, &[("a", 3)]), 0.289_065);
}

#[test]
fn only_ten_hits_count_and_each_once() {
    let eleventh = ["1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "a"];
    assert_close(ndcg(&eleventh, &[("a", 3)]), 0.0);
    assert_close(ndcg(&["a", "a"], &[("a", 3), ("b", 3)]), 1.0 / (1.0 + 1.0 / 3_f64.log2()));
    let many: Vec<String> = (0..15).map(|number| format!("n{number}")).collect();
    let grades: Vec<(&str, u8)> = many.iter().map(|sku| (sku.as_str(), 3)).collect();
    let first: Vec<&str> = many.iter().take(10).map(String::as_str).collect();
    assert_close(ndcg(&first, &grades), 1.0);
}

#[test]
fn the_same_sku_of_another_store_is_another_product() {
    let other_store = [(String::from("orelys"), String::from("a"))];
    assert_close(ndcg_at_10(&other_store, &judged(&[("a", 3)])), 0.0);
}

#[test]
fn the_set_is_large_and_matches_the_demo_data() {
    let queries = queries().expect("a set that matches the demo data");
    assert!(queries.len() >= 100, "{}", queries.len());
    for kind in Kind::ALL {
        let count = queries.iter().filter(|query| query.kind == kind).count();
        assert!(count >= 6, "{}: {count}", kind.name());
    }
    for query in queries.iter().filter(|query| query.kind == Kind::InStore) {
        assert_eq!(query.merchants.len(), 1, "{}", query.id);
    }
}

#[test]
fn judged_products_pass_the_filters_of_their_query() {
    let world = demo::world();
    for query in queries().expect("a set that matches the demo data") {
        for judged in &query.judgements {
            let store = world.store(&judged.store).expect("a store");
            let product = store.products.iter().find(|product| product.sku == judged.sku);
            let product = product.expect("a product");
            let name = format!("{}: {}/{}", query.id, judged.store, judged.sku);
            assert!(["USD", "EUR", "USDC"].contains(&product.currency.as_str()), "{name}");
            let currency = query.currency.as_ref();
            assert!(currency.is_none_or(|currency| currency == &product.currency), "{name}");
            assert!(query.brand.as_ref().is_none_or(|brand| brand == &product.brand), "{name}");
            let category = query.category.as_ref();
            assert!(category.is_none_or(|path| product.category.starts_with(path)), "{name}");
            let trust = store.trust_score.unwrap_or_default();
            assert!(query.min_trust.is_none_or(|least| trust >= least), "{name}");
            let in_stock = ["in_stock", "low_stock"].contains(&product.stock_status);
            assert!(in_stock || !query.in_stock_only, "{name}");
            let merchants = &query.merchants;
            assert!(merchants.is_empty() || merchants.contains(&judged.store), "{name}");
            let elite = query.verification_level.as_deref() != Some("ELITE") || trust >= 0.95;
            assert!(elite, "{name}");
        }
    }
}

#[test]
fn a_set_that_contradicts_the_demo_data_is_rejected() {
    let one = |store: &str, sku: &str, grade: u8| {
        let text = format!(
            "[[query]]\nid = \"x\"\nkind = \"exact\"\nquery = \"x\"\n\
             judgements = [{{ store = \"{store}\", sku = \"{sku}\", grade = {grade} }}]"
        );
        let queries = parse(&text).expect("a query");
        check(&queries[0], &demo::world()).map_err(|why| why.to_string())
    };
    assert_eq!(one("demo-store", "POUR-101", 3), Ok(()));
    assert_eq!(one("demo-store", "POUR-0", 3), Err(String::from("demo-store has no POUR-0")));
    assert_eq!(one("nowhere", "A", 1), Err(String::from("there is no store nowhere")));
    for closed in ["velvetine-outlet", "tuulikki-candles", "orto-lucido"] {
        assert_eq!(one(closed, "A", 1), Err(format!("{closed} is not in the index")));
    }
    assert_eq!(one("demo-store", "POUR-101", 4), Err(String::from("POUR-101 has grade 4")));
}

#[tokio::test]
async fn means_are_computed_by_kind_and_overall() {
    let query = |id: &str, kind| Query {
        id: id.to_owned(),
        kind,
        words: id.to_owned(),
        category: None,
        brand: None,
        min_price: None,
        max_price: None,
        currency: None,
        in_stock_only: false,
        min_trust: None,
        verification_level: None,
        merchants: Vec::new(),
        judgements: judged(&[("a", 3)]),
    };
    let queries =
        vec![query("a", Kind::Exact), query("x", Kind::Exact), query("a again", Kind::Misspelt)];
    // In a task, as checks run.
    let task = tokio::spawn(async move {
        measure(&queries, async |query| {
            tokio::task::yield_now().await;
            Ok(vec![hit(if query.id == "x" { "x" } else { "a" })])
        })
        .await
    });
    let relevance = task.await.expect("a task").expect("scores");
    assert_close(relevance.overall(), 2.0 / 3.0);
    assert_eq!(relevance.of(Kind::Exact), (2, 0.5));
    assert_eq!(relevance.of(Kind::Broad), (0, 0.0));
    assert_eq!(relevance.worst(1)[0].id, "x");
    assert_eq!(
        relevance.table().lines(),
        [
            "kind      queries  nDCG@10",
            "--------------------------",
            "exact           2    0.500",
            "misspelt        1    1.000",
            "all             3    0.667",
        ]
    );
}
