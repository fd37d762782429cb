// yore in @TITLE@. Written by `yore install @INSTALL@`; `yore uninstall @INSTALL@` takes it away.

import { spawn } from "node:child_process"

const YORE = "@YORE@"
const MORE = []
const AGENT = "@AGENT@"
/** A person waits for what is given, so it is short. */
const PATIENCE_MS = 3000
/** Nothing that yore gives is as long as this. */
const LONGEST_ANSWER = 64 * 1024
/** As much of a tool's output is handed on. */
const LONGEST_OUTPUT = 64 * 1024

/** Runs `yore hook AGENT EVENT` with `said` on its standard input; what it answers, or "". */
function hook(event, said) {
  return new Promise((resolve) => {
    let answer = ""
    let child
    let timer
    const end = (text) => {
      clearTimeout(timer)
      resolve(text.trim())
    }
    try {
      child = spawn(YORE, ["hook", AGENT, event, ...MORE], {
        stdio: ["pipe", "pipe", "ignore"],
        windowsHide: true,
      })
    } catch {
      return end("")
    }
    const giveUp = () => {
      child.kill("SIGKILL")
      // What it has started may keep the pipes; the agent must not wait for that.
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

/** What a tool gave, as text, its beginning and end where it is long. */
function words(output) {
  const text = typeof output === "string" ? output : JSON.stringify(output ?? "")
  if (text.length <= LONGEST_OUTPUT) return text
  return `${text.slice(0, LONGEST_OUTPUT / 2)}\n${text.slice(-LONGEST_OUTPUT / 2)}`
}

