#!/usr/bin/env node
import { flushCompileCache } from 'node:module';
import process from 'node:process';
import { runDaemon } from './compose/daemon.ts';

const code = await runDaemon();
// Node saves what it compiled when a process ends in order, which a killed one never does.
flushCompileCache();
if (code !== null) process.exit(code);
