#!/usr/bin/env node
import { flushCompileCache } from 'node:module';
import process from 'node:process';
import { runServerWorker } from './compose/server-worker.ts';

// One of several processes of a server: the first of them starts it.
const code = await runServerWorker();
// Node saves compiled code only when a process exits normally, which a killed one never does.
flushCompileCache();
if (code !== null) process.exit(code);
