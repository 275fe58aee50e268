//! `broken-files`: files as merchants send them, sent to the server one after another. Each job has to report the state, the
//! reason, the counts and the codes that are stated here.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

use super::{Importer, expect_job};
use crate::hardening::shop::{call, expect_error};
use crate::report::{Failure, Trial, Verdict, ensure};

/// Files of the short form, beside those that are taken with a warning.
const IN_SHORT_FORM: usize = 11;

/// A file and the result of its import.
struct Case {
    name: &'static str,
    /// Parameters of the import.
    query: String,
    file: Vec<u8>,
    status: &'static str,
    /// Created, failed, skipped, warnings.
    counts: [i64; 4],
    /// Part of the reason; empty if the job has none.
    reason: &'static str,
    /// Codes of all issues, in their order: errors, skipped rows, warnings.
    codes: &'static [&'static str],
}

/// Returns a case whose products are taken without a reason.
fn taken(
    name: &'static str,
    query: &str,
    file: impl Into<Vec<u8>>,
    counts: [i64; 4],
    codes: &'static [&'static str],
) -> Case {
    let (query, file) = (query.to_owned(), file.into());
    Case { name, query, file, status: "completed", counts, reason: "", codes }
}

/// Returns a case in which nothing is taken, and one error is stored.
fn refused(
    name: &'static str,
    query: &str,
    file: impl Into<Vec<u8>>,
    reason: &'static str,
    codes: &'static [&'static str],
) -> Case {
    let (query, file) = (query.to_owned(), file.into());
    Case { name, query, file, status: "failed", counts: [0, 1, 0, 0], reason, codes }
}

fn gzip(bytes: &[u8]) -> Result<Vec<u8>, Failure> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes)?;
    Ok(encoder.finish()?)
}

fn utf16(text: &str, is_little: bool) -> Vec<u8> {
    let bytes = |unit: u16| if is_little { unit.to_le_bytes() } else { unit.to_be_bytes() };
    text.encode_utf16().flat_map(bytes).collect()
}

/// Returns a text of letters below 256 in Latin-1.
fn latin1(text: &str) -> Vec<u8> {
    text.chars().map(|letter| u8::try_from(u32::from(letter)).unwrap_or(b'?')).collect()
}

fn product(id: &str) -> String {
    format!(
        "{{\"external_id\":\"{id}\",\"name\":\"Cup\",\"price\":\"5.00\",\"stock_quantity\":3}}\n"
    )
}

fn tsv(id: &str) -> String {
    format!("id\ttitle\tprice\tavailability\n{id}\tKräftige Größe\t5.00 EUR\tin_stock\n")
}

fn item(id: &str) -> String {
    format!("<item><g:id>{id}</g:id><title>Größe</title><g:price>5.00 EUR</g:price></item>")
}

/// Compression and encodings.
fn encoded() -> Result<Vec<Case>, Failure> {
    let whole = gzip(product("gz").repeat(200).as_bytes())?;
    let bomb = gzip(&vec![b' '; 66 << 20])?;
    let mark = ["\u{feff}", &tsv("u16")].concat();
    let declared = |name: &str| {
        let head = format!("<?xml version=\"1.0\" encoding=\"{name}\"?>");
        latin1(&format!("{head}<rss><channel>{}</channel></rss>", item(name)))
    };
    Ok(vec![
        taken("gzip", "format=ndjson", gzip(product("gzip").as_bytes())?, [1, 0, 0, 0], &[]),
        refused(
            "a cut gzip file",
            "format=ndjson",
            &whole[..40],
            "gzip file is damaged",
            &["truncated"],
        ),
        refused("a gzip bomb", "format=ndjson", bomb, "compressed more", &["too_long"]),
        taken(
            "UTF-16 with a mark",
            "format=google_tsv",
            utf16(&mark, true),
            [1, 0, 0, 1],
            &["encoding"],
        ),
        taken(
            "UTF-16 without a mark",
            "format=google_tsv",
            utf16(&tsv("u16be"), false),
            [1, 0, 0, 1],
            &["encoding"],
        ),
        taken("Latin-1", "format=google_tsv", latin1(&tsv("latin")), [1, 0, 0, 1], &["encoding"]),
        taken(
            "Latin-1 XML",
            "format=google_xml",
            declared("ISO-8859-1"),
            [1, 0, 0, 1],
            &["encoding"],
        ),
        refused(
            "an unknown encoding",
            "format=google_xml",
            declared("X-OWN"),
            "encoding",
            &["unreadable"],
        ),
    ])
}

/// Separators, columns and short rows.
fn tables() -> Vec<Case> {
    let shopify = "Handle;Title;Variant Price;Status;Variant Inventory Qty\n";
    let drafts = format!("{shopify}sd;Draft;5.00;draft;1\n");
    let mixed = format!("{shopify}sa;Cup;5.00;active;1\nsd;Draft;5.00;draft;1\nshort;Cup\n");
    let columns = "format=csv&columns=%7B%22external_id%22%3A%22Nr%22%2C%22name%22%3A%22Name%22%2C%22price%22%3A%22Preis%22%7D";
    let nothing = |name, file: String, reason, counts, codes| Case {
        counts,
        ..refused(name, "format=shopify_csv", file, reason, codes)
    };
    vec![
        taken(
            "semicolons",
            "format=shopify_csv",
            format!("{shopify}semi;Cup;5,00;active;2\n"),
            [1, 0, 0, 0],
            &[],
        ),
        taken("pipes", "format=csv", "id|name|price\npipe|Cup|5.00\n", [1, 0, 0, 0], &[]),
        taken("tabs", "format=csv", "id\tname\tprice\ntab\tCup\t5.00\n", [1, 0, 0, 0], &[]),
        taken(
            "drafts and short rows",
            "format=shopify_csv",
            mixed,
            [1, 0, 2, 0],
            &["not_for_sale", "incomplete"],
        ),
        nothing("only drafts", drafts, "1 rows were skipped", [0, 0, 1, 0], &["not_for_sale"]),
        nothing("a header alone", shopify.to_owned(), "contains no products", [0, 0, 0, 0], &[]),
        taken(
            "named columns",
            columns,
            "Nr;Name;Preis;Farbe\nnc;Cup;5,00;blau\n",
            [1, 0, 0, 1],
            &["unknown_column"],
        ),
        refused(
            "a named column is absent",
            columns,
            "Nr;Name\n1;Cup\n",
            "no column \"Preis\"",
            &["missing_column"],
        ),
        refused(
            "no price column",
            "format=csv",
            "id,name,cost\n1,Cup,5\n",
            "\"cost\"",
            &["missing_column"],
        ),
        refused(
            "no handle",
            "format=shopify_csv",
            "name,price\nCup,5\n",
            "no column for handle",
            &["missing_column"],
        ),
    ]
}

/// Files of other kinds than stated.
fn other_kinds() -> Vec<Case> {
    let kind = |name, query, file: &[u8], reason| {
        refused(name, query, file, reason, &["unsupported_file"])
    };
    let array = format!("[{}]", product("array").trim());
    vec![
        kind("a zip archive", "format=csv", b"PK\x03\x04\x14\0\0\0\x08\0feed.csv", "zip archive"),
        kind(
            "a workbook",
            "format=csv",
            b"PK\x03\x04\x14\0\x06\0[Content_Types].xml",
            "Excel workbook",
        ),
        kind("a PDF document", "format=google_xml", b"%PDF-1.7\n", "PDF"),
        kind(
            "a web page",
            "format=google_xml",
            b"<!DOCTYPE html><html><body>Log in</body></html>",
            "web page",
        ),
        kind("an array as NDJSON", "format=ndjson", array.as_bytes(), "JSON array"),
        kind("XML as NDJSON", "format=ndjson", b"<rss></rss>", "XML"),
        kind("a table as XML", "format=google_xml", tsv("x").as_bytes(), "not XML"),
        kind("NDJSON as a table", "format=shopify_csv", product("x").as_bytes(), "JSON"),
        kind("a table as ACP JSON", "format=acp_json", tsv("x").as_bytes(), "not JSON"),
        refused("an empty file", "format=ndjson", "", "The file is empty", &["truncated"]),
    ]
}

/// Cut files, and rows that are wrong.
fn wrong_rows() -> Vec<Case> {
    let cut = |name, query: &str, file: String| Case {
        counts: [1, 1, 0, 0],
        status: "completed",
        ..refused(name, query, file, "The file is truncated", &["truncated"])
    };
    let acp = |id: &str| {
        format!(
            "{{\"id\":\"{id}\",\"title\":\"Cup\",\"variants\":[{{\"id\":\"{id}-1\",\"title\":\"Cup\",\
             \"price\":{{\"amount\":500,\"currency\":\"EUR\"}}}}]}}"
        )
    };
    let types =
        "{\"external_id\":\"t1\",\"name\":\"Cup\",\"price\":{\"amount\":5}}\n{\"external_id\":5}\n";
    let rejected = |name, query: &str, file: String, reason, failed, codes| Case {
        counts: [0, failed, 0, 0],
        ..refused(name, query, file, reason, codes)
    };
    let ambiguous = "id\ttitle\tprice\na1\tCup\t1.299 EUR\na2\tCup\t-5 EUR\n".to_owned();
    vec![
        cut("cut NDJSON", "format=ndjson", format!("{}{{\"external_id\":\"b", product("cut1"))),
        cut("cut XML", "format=google_xml", format!("<rss><channel>{}<item><g:id>b", item("cut2"))),
        cut("cut JSON", "format=acp_json", format!("{{\"products\":[{},{{\"id\":", acp("cut3"))),
        rejected(
            "wrong types",
            "format=ndjson",
            types.to_owned(),
            "2 rows were rejected. The first: line 1",
            2,
            &["invalid_value", "invalid_value"],
        ),
        rejected(
            "wrong amounts",
            "format=google_tsv",
            ambiguous,
            "2 rows were rejected",
            2,
            &["invalid_amount", "invalid_amount"],
        ),
        taken(
            "the same id twice",
            "format=ndjson",
            [product("twice"), product("twice")].concat(),
            [1, 1, 0, 0],
            &["duplicate"],
        ),
    ]
}

/// Products that are taken with a warning.
fn doubtful() -> Vec<Case> {
    let draft = |id: &str, fields: &str| {
        format!("{{\"external_id\":\"{id}\",\"name\":\"Cup\",\"stock_quantity\":1,{fields}}}\n")
    };
    let gtins = ["9.52E+12", "INTERN-17", "4006381333930"];
    let gtins: String = (0..)
        .zip(gtins)
        .map(|(number, gtin)| {
            draft(&format!("gtin{number}"), &format!("\"price\":\"5.00\",\"gtin\":\"{gtin}\""))
        })
        .collect();
    let prices =
        draft("zero", "\"price\":0") + &draft("low", "\"price\":\"5.00\",\"list_price\":\"4.00\"");
    let sale = |id: &str, period: &str| {
        format!(
            "id\ttitle\tprice\tsale_price\tsale_price_effective_date\tavailability\n\
                 {id}\tCup\t5.00 EUR\t2.00 EUR\t{period}\tin_stock\n"
        )
    };
    vec![
        taken(
            "wrong GTINs",
            "format=ndjson",
            gtins,
            [3, 0, 0, 3],
            &["invalid_gtin", "invalid_gtin", "invalid_gtin"],
        ),
        taken(
            "doubtful prices",
            "format=ndjson",
            prices,
            [2, 0, 0, 2],
            &["zero_price", "list_price_too_low"],
        ),
        taken(
            "a foreign currency",
            "format=ndjson",
            draft("gbp", "\"price\":5,\"currency\":\"GBP\""),
            [1, 0, 0, 1],
            &["foreign_currency"],
        ),
        taken(
            "an expired sale",
            "format=google_tsv",
            sale("expired", "2020-01-01T00:00Z/2020-02-01T00:00Z"),
            [1, 0, 0, 0],
            &[],
        ),
        taken(
            "an unreadable period",
            "format=google_tsv",
            sale("period", "next week"),
            [1, 0, 0, 1],
            &["invalid_value"],
        ),
    ]
}

pub(crate) async fn prove(trial: Trial) -> Verdict {
    let importer = Importer::open(&trial).await?;
    let mut cases = encoded()?;
    cases.extend(tables().into_iter().chain(other_kinds()).chain(wrong_rows()));
    let mut cases = trial.rotate(cases, IN_SHORT_FORM);
    cases.extend(doubtful());
    for case in &cases {
        trial.progress(|| case.name.to_owned());
        check(case, &importer.import(&case.query, &case.file).await?)?;
    }
    for (id, minor) in [("expired", 500), ("period", 500), ("low", 500), ("zero", 0)] {
        let found = importer.stored(id).await?.1;
        ensure(found == minor, || format!("{id} costs {found}"))?;
    }
    invalid_columns(&importer).await?;
    let kept = all_rows_fail(&importer).await?;
    Ok(format!(
        "{} files: state, reason, counts and codes of each job; unknown columns are 400; a replacement whose rows all fail is \
         failed and leaves all {kept} products",
        cases.len()
    ))
}

fn check(case: &Case, job: &Value) -> Result<(), Failure> {
    expect_job(case.name, job, case.status, case.counts)?;
    let reason = job["reason"].as_str().unwrap_or_default();
    let is_right =
        if case.reason.is_empty() { reason.is_empty() } else { reason.contains(case.reason) };
    ensure(is_right, || format!("{}: the reason is {reason:?}", case.name))?;
    let issues = job["issues"].as_array().ok_or("a job without issues")?;
    let codes: Vec<&str> = issues.iter().filter_map(|issue| issue["code"].as_str()).collect();
    ensure(codes == case.codes, || format!("{}: the issues are {issues:?}", case.name))?;
    let is_complete = issues.iter().all(|issue| {
        issue["line"].is_number() && issue["field"].is_string() && issue["reason"].is_string()
    });
    ensure(is_complete, || format!("{}: an issue lacks a field: {issues:?}", case.name))
}

async fn invalid_columns(importer: &Importer) -> Result<(), Failure> {
    for columns in ["[]", "%7B%22colour%22%3A%22x%22%7D"] {
        let path = format!("/merchant/imports?format=csv&columns={columns}");
        let port = importer.shop.port();
        let answer = call(port, importer.key(), "POST", &path, &json!("id,name,price")).await?;
        expect_error("invalid columns", &answer, 400, "invalid_request")?;
    }
    Ok(())
}

/// Replaces the catalog by a file all of whose rows fail; returns the number of products that stay.
async fn all_rows_fail(importer: &Importer) -> Result<i64, Failure> {
    let listed = "SELECT count(*) FROM product WHERE merchant_id = $1 AND retired_at IS NULL";
    let before = importer.shop.count(listed).await?;
    let mut raw = importer.shop.deployment.test.raw().await;
    let ids: Vec<String> = sqlx::query_scalar(
        "SELECT external_id FROM product WHERE merchant_id = $1 AND retired_at IS NULL",
    )
    .bind(importer.shop.merchant)
    .fetch_all(&mut raw)
    .await?;
    let rows: Vec<String> = ids.iter().map(|id| json!({ "external_id": id }).to_string()).collect();
    let rows = rows.join("\n");
    let job = importer.import("format=ndjson&mode=replace&force=true", rows.as_bytes()).await?;
    ensure(job["status"] == "failed" && job["complete"] == false && job["retired"] == 0, || {
        format!("a replacement whose rows all fail: {job}")
    })?;
    let after = importer.shop.count(listed).await?;
    ensure(before == after && before > 0, || format!("{before} products, then {after}"))?;
    Ok(after)
}
