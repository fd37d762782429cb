// yore in OpenCode. Written by `yore install opencode`; `yore uninstall opencode` takes it away.
//
// Tells yore that a session moved on, and adds what yore gives to the message that the person is
// about to send: where things stand with the first one, what concerns it with each. The person's own
// words are left as they are; what is added is a part of its own, marked as synthetic, in the new
// message only, so that what the model's provider has cached stays valid.
//
// Whatever goes wrong, and whatever takes too long, nothing is added. There is exactly one export,
// because OpenCode calls every export as a plugin.

import { spawn } from "node:child_process"

const YORE = "@YORE@"
/** A person waits for what is given, so it is short. */
const PATIENCE_MS = 3000
/** Nothing that yore gives is as long as this. */
const LONGEST_ANSWER = 64 * 1024
/** Sessions that are kept in mind. */
const MOST_SESSIONS = 1000

/** Runs `yore hook opencode EVENT` with `said` on its standard input; what it answers, or "". */
function hook(event, said) {
  return new Promise((resolve) => {
    let answer = ""
    let child
    let timer
    const end = (text) => {
      clearTimeout(timer)
      resolve(text)
    }
    try {
      child = spawn(YORE, ["hook", "opencode", event], {
        stdio: ["pipe", "pipe", "ignore"],
        windowsHide: true,
      })
    } catch {
      return end("")
    }
    const giveUp = () => {
      child.kill("SIGKILL")
      // What it has started may keep the pipes; OpenCode must not wait for that.
      child.stdin.destroy()
      child.stdout.destroy()
      child.unref()
      end("")
    }
    timer = setTimeout(giveUp, PATIENCE_MS)
    child.on("error", () => end(""))
    child.on("close", (code) => end(code === 0 ? answer : ""))
    child.stdin.on("error", () => {})
    child.stdout.on("error", () => {})
    child.stdout.setEncoding("utf8")
    child.stdout.on("data", (text) => {
      answer += text
      if (answer.length > LONGEST_ANSWER) giveUp()
    })
    child.stdin.end(JSON.stringify({ hook_event_name: event, ...said }))
  })
}

/** The text to add: the one in yore's JSON, or the answer itself where it is none. */
function given(answer) {
  const text = answer.trim()
  if (!text.startsWith("{")) return text
  try {
    const value = JSON.parse(text)
    const context = value.hookSpecificOutput?.additionalContext ?? value.additionalContext
    return typeof context === "string" ? context.trim() : ""
  } catch {
    return ""
  }
}

/** What the person wrote, without what other plugins or OpenCode itself added. */
function prompt(parts) {
  return parts
    .filter((part) => part.type === "text" && !part.synthetic && !part.ignored)
    .map((part) => part.text)
    .join("\n")
}

/** Adds a text after the parts that are there. Parts are stored in the order of their ids. */
function add(input, output, text) {
  const last = output.parts.at(-1)
  const messageID = output.message?.id ?? last?.messageID ?? input.messageID
  const sessionID = input.sessionID ?? last?.sessionID
  if (!last?.id || !messageID || !sessionID) return
  output.parts.push({ id: `${last.id}y`, sessionID, messageID, type: "text", text, synthetic: true })
}

export const Yore = async ({ directory, worktree }) => {
  const cwd = directory || worktree
  /** What a session needs with its next prompt: "startup", "resume", "compact", or nothing. */
  const due = new Map()
  /** Sessions of other sessions: nobody types there. */
  const inner = new Set()
  const remember = (collection, write) => {
    if (collection.size >= MOST_SESSIONS) collection.clear()
    write()
  }

  return {
    event: async ({ event }) => {
      try {
        const about = event.properties ?? {}
        const session = about.sessionID ?? about.info?.id
        if (!session) return
        if (event.type === "session.created") {
          if (about.info?.parentID) remember(inner, () => inner.add(session))
          else remember(due, () => due.set(session, "startup"))
        } else if (event.type === "session.compacted") {
          remember(due, () => due.set(session, "compact"))
        } else if (event.type === "session.idle") {
          await hook("session.idle", { session_id: session, cwd })
        } else if (event.type === "session.deleted") {
          due.delete(session)
          inner.delete(session)
        }
      } catch {
        // An agent must never fail because of its memory.
      }
    },

    "chat.message": async (input, output) => {
      try {
        const session = input.sessionID
        const words = prompt(output.parts)
        if (!session || !words.trim() || inner.has(session)) return
        const source = due.has(session) ? due.get(session) : "resume"
        remember(due, () => due.set(session, undefined))
        const said = { session_id: session, cwd }
        // One after the other: what the first has given, the second does not repeat.
        const brief = source ? given(await hook("SessionStart", { ...said, source })) : ""
        const offer = given(await hook("chat.message", { ...said, prompt: words }))
        const text = [brief, offer].filter(Boolean).join("\n\n")
        if (text) add(input, output, text)
      } catch {
        // As above.
      }
    },
  }
}
