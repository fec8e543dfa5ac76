#!/usr/bin/env node
import { flushCompileCache } from 'node:module';
import process from 'node:process';
import { runDaemonSupervisor } from './compose/daemon-supervisor.ts';

// The first process of the daemon's container: it starts cmd/daemon.ts with its own arguments, and again when it dies.
const running = runDaemonSupervisor();
// Node saves compiled code only when a process exits normally, which a killed one never does.
flushCompileCache();
const code = await running;
if (code !== null) process.exit(code);
