//! An invented project with four sessions, for a computer without histories.

/// File names below `projects`, with their content.
pub const TRANSCRIPTS: [(&str, &str); 4] = [
    (
        "-home-dev-tidepool/71de0001-3f08-4714-9c34-5c452003a142.jsonl",
        include_str!("../example/projects/-home-dev-tidepool/71de0001-3f08-4714-9c34-5c452003a142.jsonl"),
    ),
    (
        "-home-dev-tidepool/71de0002-db5a-49aa-8e84-47468670e630.jsonl",
        include_str!("../example/projects/-home-dev-tidepool/71de0002-db5a-49aa-8e84-47468670e630.jsonl"),
    ),
    (
        "-home-dev-tidepool/71de0003-f01d-48f7-96ac-550c53cfdb11.jsonl",
        include_str!("../example/projects/-home-dev-tidepool/71de0003-f01d-48f7-96ac-550c53cfdb11.jsonl"),
    ),
    (
        "-home-dev-tidepool/71de0004-46d8-48e9-be75-ad2c5ce01f4a.jsonl",
        include_str!("../example/projects/-home-dev-tidepool/71de0004-46d8-48e9-be75-ad2c5ce01f4a.jsonl"),
    ),
];

/// Folder of the data directory with the memory of the example project.
pub const FOLDER: &str = "example";

/// The question that `up` asks about the example.
pub const QUESTION: &str = "why did we move the cache out of redis?";
