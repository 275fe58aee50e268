//! The page of a trust score (docs/contract/stores.md#pages).

use trust::{Component, Epoch};

use crate::app::TestApp;

const PATH: &str = "/stores/kivikiri/trust";

/// Appends a revision of the newest score of the demo data, with one component.
async fn append(app: &TestApp, score: f64) {
    let values = Component::ALL.iter().map(|it| (*it == Component::PriceAccuracy).then_some(score));
    let now = app.test.database().local_now();
    sqlx::query(
        "INSERT INTO trust_score
             (merchant_id, epoch, revision, computed_at, methodology, score, provisional, basis, cause, component_values)
         SELECT merchant_id, $1, 1, $2, '2.0', $3, false, 'demo', 'demo', $4 FROM store WHERE slug = 'kivikiri'",
    )
    .bind(Epoch::of(now).0)
    .bind(now)
    .bind(score)
    .bind(values.collect::<Vec<Option<f64>>>())
    .execute(&mut app.test.raw().await)
    .await
    .unwrap();
}

#[tokio::test]
async fn a_score_is_shown_with_its_components_and_its_history_in_pictures_and_in_text() {
    let app = TestApp::start().await;
    append(&app, 0.75).await;
    let store = app.get("/stores/kivikiri").await;
    assert!(store.text.contains(&format!("href=\"{PATH}\"")), "{}", store.text);
    assert!(!store.text.contains("rice accuracy"), "components are on the page of the score only");
    let page = app.get(PATH).await;
    assert_eq!(page.status, 200);
    assert_eq!(page.text.matches("<svg class=\"chart ").count(), 2, "wide and narrow");
    assert_eq!(page.text.matches("<svg class=\"bar").count(), Component::ALL.len());
    assert_eq!(page.text.matches(">no data<").count(), Component::ALL.len() - 1);
    for expected in [
        "<h2 id=\"history\">History</h2>",
        "<polyline class=\"history\" points=\"",
        "The scores as a table",
        "<td class=\"number\">0.75</td><td>STANDARD</td>",
        "Price accuracy",
        "width=\"75.0\"",
        "Decides 100 % of the score, and costs 0.250.",
        "href=\"/api/v1/trust/scores/kivikiri/history\"",
    ] {
        assert!(page.text.contains(expected), "{expected} is missing: {}", page.text);
    }
    let policy = page.headers["content-security-policy"].to_str().unwrap();
    assert!(policy.starts_with("default-src 'none'; style-src 'self'"), "{policy}");
    for refused in ["<script", "style=\"", "<style", "onload"] {
        assert!(!page.text.contains(refused), "{refused}");
    }
}

#[tokio::test]
async fn the_page_stays_while_a_store_is_suspended_and_its_name_is_text() {
    let app = TestApp::start().await;
    let mut raw = app.test.raw().await;
    let suspend = "UPDATE standing SET score = 0.1 FROM store
                   WHERE store.merchant_id = standing.merchant_id AND store.slug = 'kivikiri'";
    sqlx::query(suspend).execute(&mut raw).await.unwrap();
    let rename = "UPDATE store SET name = '<script>alert(1)</script>' WHERE slug = 'kivikiri'";
    sqlx::query(rename).execute(&mut raw).await.unwrap();
    assert_eq!(app.get("/stores/kivikiri").await.status, 403);
    let page = app.get(PATH).await;
    assert_eq!(page.status, 200);
    assert!(page.text.contains("Suspended: the score is below 0.20."), "{}", page.text);
    assert!(page.text.contains("RESTRICTED") && !page.text.contains("<script"), "{}", page.text);
    for unknown in ["/stores/nobody/trust", "/stores/No_Slug/trust"] {
        assert_eq!(app.get(unknown).await.status, 404, "{unknown}");
    }
}
