// Tells yore that a session moved on, and adds what yore gives: before the first request of a run where
// things stand and what concerns the prompt, behind a tool's result what was said about its file or came
// of its error. Cline keeps these texts as messages of their own. Calls of yore's own tools are given the
// directory of this session: one server serves the sessions of all directories.
//
// Whatever goes wrong, and whatever takes too long, nothing is added.

/** Tools whose end is told to yore. */
const TOOLS = new Set(["apply_patch", "editor", "read_files", "run_commands"])
/** Tools of yore that are asked in a project. */
const ASKED = /^yore__(recall|brief|sessions|notes|remember|search\w*)$/

/** The session, and where it works; each session has a process of its own for its plugins. */
let session = {}

function speaker({ agentId, parentAgentId }) {
  return parentAgentId ? { ...session, agent_id: agentId, parent_agent_id: parentAgentId } : session
}

/** What the person wrote last. */
function prompt(messages) {
  const last = [...messages].reverse().find((message) => message.role === "user")
  const text = (last?.content ?? []).filter((part) => part.type === "text").map((part) => part.text).join("\n")
  return text.replace(/^<user_input[^>]*>/, "").replace(/<\/user_input>$/, "").trim()
}

export default {
  name: "yore",
  manifest: { capabilities: ["hooks"] },

  setup(api, context) {
    session = { session_id: context?.session?.sessionId, cwd: context?.workspaceInfo?.rootPath }
  },

  hooks: {
    async beforeRun({ snapshot }) {
      try {
        if (!session.session_id) return
        const event = snapshot.parentAgentId ? "SubagentStart" : "UserPromptSubmit"
        const text = await hook(event, { ...speaker(snapshot), prompt: prompt(snapshot.messages) })
        return text ? { appendContext: text } : undefined
      } catch {
        // An agent must never fail because of its memory.
      }
    },

    beforeTool({ tool, toolCall, input }) {
      const name = tool?.name ?? toolCall?.toolName ?? ""
      if (ASKED.test(name) && session.cwd && !input?.project) return { input: { ...input, project: session.cwd } }
    },

    async afterTool({ snapshot, tool, toolCall, input, result }) {
      try {
        const name = tool?.name ?? toolCall?.toolName ?? ""
        if (!session.session_id || !TOOLS.has(name)) return
        const outputs = [result?.output].flat()
        const failed = outputs.find((output) => output?.success === false)
        const said = { ...speaker(snapshot), tool_name: name, tool_input: input }
        if (name === "run_commands") {
          said.tool_response = words(outputs.map((output) => output?.result ?? output).join("\n"))
          if (failed) said.error = words(failed.result ?? failed.error ?? "")
        }
        const text = await hook("tool.execute.after", said)
        return text ? { appendContext: text } : undefined
      } catch {
        // As above.
      }
    },

    async afterRun({ snapshot }) {
      try {
        if (session.session_id) await hook("TaskComplete", speaker(snapshot))
      } catch {
        // As above.
      }
    },
  },
}
