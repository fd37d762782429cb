//! PDFs are read by the program itself, run once for each.
#![cfg(feature = "pdf")]

use crate::environment::TestEnvironment;

/// Makes a document of one page with the text `words`.
fn pdf(words: &str) -> Vec<u8> {
    let content = format!("BT /F1 24 Tf 72 720 Td ({words}) Tj ET");
    let objects = [
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_owned(),
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>"
            .to_owned(),
        format!("<< /Length {} >>\nstream\n{content}\nendstream", content.len()),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>".to_owned(),
    ];
    let mut out = b"%PDF-1.4\n".to_vec();
    let mut places = Vec::new();
    for (at, object) in objects.iter().enumerate() {
        places.push(out.len());
        out.extend(format!("{} 0 obj\n{object}\nendobj\n", at + 1).bytes());
    }
    let table = out.len();
    out.extend(format!("xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1).bytes());
    out.extend(places.iter().flat_map(|place| format!("{place:010} 00000 n \n").into_bytes()));
    out.extend(format!("trailer\n<< /Size {} /Root 1 0 R >>\nstartxref\n{table}\n%%EOF\n", objects.len() + 1).bytes());
    out
}

#[test]
fn text_of_a_pdf_is_found_by_recall_and_odd_pdfs_are_counted() {
    let environment = TestEnvironment::new();
    environment.write("work/papers/tides.pdf", pdf("The lagoon floods at dusk"));
    environment.write(
        "work/papers/broken.pdf",
        b"%PDF-1.4\n1 0 obj\n<< /Type /Catalog /Pages 1 0 R >>\nendobj\ntrailer << /Root 1 0 R >>",
    );
    let outcome = environment.yore(["ingest", "--source", "file", "papers", "--json", "--no-embed"]).run();
    assert_eq!(outcome.status.code(), Some(0), "{}", outcome.stderr);
    let report = outcome.json();
    assert_eq!(report["turns_added"], 1, "{report}");
    assert_eq!(report["skips"][0]["reason"], "pdf-not-readable");
    let found = environment.yore(["recall", "when does the lagoon flood", "--json", "--all"]).run().json();
    assert!(found["results"][0]["quote"].as_str().unwrap().contains("The lagoon floods at dusk"), "{found}");
}

#[test]
fn nonsense_gives_no_text() {
    let environment = TestEnvironment::new();
    for input in ["", "no pdf at all", "%PDF-1.7\nxref\n0 1\ntrailer << /Size 99999999999 >>\nstartxref\n9\n%%EOF"] {
        let outcome = environment.yore(["pdf-text"]).stdin(input).run();
        assert_eq!(outcome.stdout, "", "{input:?}");
    }
}
