#!/usr/bin/env node
// Runs the program of the package for this platform, and ends as it ends.
"use strict";

const { spawn } = require("child_process");
const { constants } = require("os");
const { dirname, join } = require("path");

// npm installs the packages for this system. An old npm does not know about C libraries, and installs both of them.
function found(name) {
  try {
    const suffix = process.platform === "win32" ? ".exe" : "";
    return join(dirname(require.resolve(`${name}/package.json`)), "bin", `yore${suffix}`);
  } catch (error) {
    return undefined;
  }
}

const name = `yore-memory-${process.platform}-${process.arch}`;
const programs = [found(name), found(`${name}-musl`)];
const musl = programs[1] && (!programs[0] || !process.report.getReport().header.glibcVersionRuntime);
const program = programs[musl ? 1 : 0];
if (!program) {
  console.error(`yore: the package ${name} is missing. It is an optional dependency: install again without --omit=optional.`);
  console.error("Where there is no such package, yore was not built for this platform.");
  process.exit(1);
}

const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
// A signal for this process alone is for the program. One from the terminal reaches both.
for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
process.on("SIGINT", () => {});
child.on("error", (error) => {
  console.error(`yore: ${program} cannot be run: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => process.exit(signal ? 128 + constants.signals[signal] : code));
