//! Loads and runs a BERT-like network with `rten`.

use std::path::Path;
use std::sync::Arc;

use rten::{Model, ModelOptions, NodeId, RunOptions, ThreadPool, Value};

use super::{EmbedError, LoadOptions};

/// Name of the runtime in the identity of vectors. A patch release keeps the name, so that nothing is
/// embedded again, as long as the numerical tests pass.
pub(super) const RUNTIME: &str = "rten 0.27";

/// A loaded network. It runs one text at a time: the activations of an int8 network are scaled over the whole
/// batch, so that the numbers of a text would depend on its neighbours.
pub(super) struct Network {
    model: Model,
    ids: NodeId,
    mask: NodeId,
    types: Option<NodeId>,
    output: NodeId,
    options: RunOptions,
}

impl Network {
    /// Loads a network from the bytes of `file`. Its result is called `output`, or is its only one.
    pub fn load(file: &Path, bytes: Vec<u8>, output: &str, options: &LoadOptions) -> Result<Self, EmbedError> {
        let unsuitable = |detail: String| EmbedError::Unsuitable { file: file.to_path_buf(), detail };
        // The model is loaded from memory, so that the checked bytes are those that are run, and so that a
        // network cannot name further files to be read. Mapping the file would save nothing: the runtime
        // copies weights that are inside an ONNX file.
        // Unpacked weights are packed again for every text, which costs four times as much as the text.
        let model =
            ModelOptions::with_all_ops().prepack_weights(true).load(bytes).map_err(|error| unsuitable(error.to_string()))?;
        let input = |name: &str| model.find_node(name).filter(|node| model.input_ids().contains(node));
        let needed = |name: &str| input(name).ok_or_else(|| unsuitable(format!("it has no input {name}")));
        let (ids, mask, types) = (needed("input_ids")?, needed("attention_mask")?, input("token_type_ids"));
        let output = model
            .find_node(output)
            .filter(|node| model.output_ids().contains(node))
            .or_else(|| <[NodeId; 1]>::try_from(model.output_ids()).ok().map(|[only]| only))
            .ok_or_else(|| unsuitable(format!("it has no output {output}")))?;
        let pool = Arc::new(ThreadPool::with_num_threads(options.threads.max(1)));
        Ok(Self { model, ids, mask, types, output, options: RunOptions::default().with_thread_pool(Some(pool)) })
    }

    /// Runs one text; `types` gives for each token the one of two texts that it belongs to.
    pub fn run(&self, ids: &[u32], types: Vec<i32>) -> Result<Value, String> {
        let shape = [1, ids.len()];
        let mask = vec![1; ids.len()];
        let ids = ids.iter().map(|id| id.cast_signed()).collect();
        let tensor = |numbers: Vec<i32>| Value::from_shape(shape, numbers).map_err(|error| error.to_string());
        let mut inputs = vec![(self.ids, tensor(ids)?.into()), (self.mask, tensor(mask)?.into())];
        if let Some(node) = self.types {
            inputs.push((node, tensor(types)?.into()));
        }
        let mut outputs =
            self.model.run(inputs, &[self.output], Some(self.options.clone())).map_err(|error| error.to_string())?;
        outputs.pop().ok_or_else(|| "it returned no result".to_owned())
    }
}
