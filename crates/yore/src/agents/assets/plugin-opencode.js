// Tells yore that a session moved on, and adds what yore gives: to the message that the person is about
// to send where things stand (with the first one) and what concerns it, to a sub-agent's first message
// what concerns its errand, to a tool's output what was said about its file or came of its error.
// The person's own words are left as they are. What is added is a part of its own, in new messages only,
// so that what the model's provider has cached stays valid.
//
// Whatever goes wrong, and whatever takes too long, nothing is added. There is exactly one export,
// because every export is called as a plugin.

/** Sessions that are kept in mind. */
const MOST_SESSIONS = 1000
/** Tools whose end is told to yore. */
const TOOLS = new Set(["apply_patch", "bash", "edit", "multiedit", "patch", "read", "write"])
/** From this version on the agent lets a plugin change what a request holds. */
const [MAJOR, MINOR] = [1, 2]

/** What the person wrote, without what other plugins or the agent itself added. */
function prompt(parts) {
  const text = parts
    .filter((part) => part.type === "text" && !part.synthetic && !part.ignored)
    .map((part) => part.text)
    .join("\n")
  // The command line puts its words between quotes.
  return /^"[^"]*"$/.test(text) ? text.slice(1, -1) : text
}

/** Whether a part is what yore has put in. */
function isOurs(part) {
  return part.type === "text" && part.synthetic && part.text.startsWith("<recalled-data")
}

/**
 * Adds a text after the parts that are there. Parts are stored in the order of their ids. One that is
 * ignored reaches the model when its request is made, and not the model that finds a title.
 */
function add(input, output, text, ignored) {
  const last = output.parts.at(-1)
  const messageID = output.message?.id ?? last?.messageID ?? input.messageID
  const sessionID = input.sessionID ?? last?.sessionID
  if (!last?.id || !messageID || !sessionID) return
  const part = { id: `${last.id}y`, sessionID, messageID, type: "text", text, synthetic: true }
  output.parts.push(ignored ? { ...part, ignored } : part)
}

export const Yore = async ({ directory, worktree }) => {
  const cwd = directory || worktree
  /** What a session needs with its next prompt: "startup", "resume", "compact", or nothing. */
  const due = new Map()
  /** Sub-agents' sessions, and the sessions that started them. */
  const parents = new Map()
  /** Sessions that were begun by a version that lets requests be changed. */
  const changeable = new Set()
  const remember = (collection, write) => {
    if (collection.size >= MOST_SESSIONS) collection.clear()
    write()
  }
  /** Who speaks: a session, or a sub-agent of one. */
  const speaker = (session) => {
    const parent = parents.get(session)
    return parent ? { session_id: parent, agent_id: session, cwd } : { session_id: session, cwd }
  }

  return {
    event: async ({ event }) => {
      try {
        const about = event.properties ?? {}
        const session = about.sessionID ?? about.info?.id
        if (!session) return
        if (event.type === "session.created") {
          const [major, minor] = String(about.info?.version ?? "").split(".").map(Number)
          if (major > MAJOR || (major === MAJOR && minor >= MINOR)) remember(changeable, () => changeable.add(session))
          if (about.info?.parentID) remember(parents, () => parents.set(session, about.info.parentID))
          remember(due, () => due.set(session, "startup"))
        } else if (event.type === "session.compacted") {
          remember(due, () => due.set(session, "compact"))
          // The session may be gone on with by another process.
          await hook("session.compacted", speaker(session))
        } else if (event.type === "session.idle") {
          await hook("session.idle", speaker(session))
        } else if (event.type === "session.deleted") {
          due.delete(session)
          parents.delete(session)
        }
      } catch {
        // An agent must never fail because of its memory.
      }
    },

    "chat.message": async (input, output) => {
      try {
        const session = input.sessionID
        const words = prompt(output.parts)
        if (!session || !words.trim()) return
        const source = due.has(session) ? due.get(session) : "resume"
        remember(due, () => due.set(session, undefined))
        const said = speaker(session)
        const given = []
        if (said.agent_id) {
          if (source) given.push(await hook("SubagentStart", { ...said, prompt: words }))
        } else {
          // One after the other: what the first has given, the second does not repeat.
          if (source) given.push(await hook("SessionStart", { ...said, source }))
          given.push(await hook("chat.message", { ...said, prompt: words }))
        }
        const text = given.filter(Boolean).join("\n\n")
        if (text) add(input, output, text, changeable.has(session))
      } catch {
        // As above.
      }
    },

    "experimental.chat.messages.transform": async (input, output) => {
      try {
        for (const message of output.messages ?? []) {
          for (const part of message.parts ?? []) {
            if (part.ignored && isOurs(part)) part.ignored = false
          }
        }
      } catch {
        // As above.
      }
    },

    "tool.execute.after": async (input, output) => {
      try {
        if (!input.sessionID || !TOOLS.has(input.tool) || typeof output.output !== "string") return
        const text = await hook("tool.execute.after", {
          ...speaker(input.sessionID),
          tool_name: input.tool,
          tool_input: input.args ?? output.args ?? {},
          tool_response: input.tool === "bash" ? words(output.output) : "",
          exit_code: output.metadata?.exit,
        })
        if (text) output.output += `\n\n${text}`
      } catch {
        // As above.
      }
    },
  }
}
