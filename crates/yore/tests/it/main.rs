//! wip

mod mcp;
