#!/usr/bin/env node
import { flushCompileCache } from 'node:module';
import process from 'node:process';
import { runDaemon } from './compose/daemon.ts';

const code = await runDaemon();
// Node saves compiled code only when a process exits normally, which a killed one never does.
flushCompileCache();
if (code !== null) process.exit(code);
