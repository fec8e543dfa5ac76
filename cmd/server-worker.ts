#!/usr/bin/env node
import process from 'node:process';
import { keepProcessSmall, saveCompiledModules } from '../src/platform/process/process-memory.ts';

// One of several processes of a server: started by the first of them, never by hand.
keepProcessSmall();
const { runServerWorker } = await import('./compose/server-worker.ts');
const code = await runServerWorker();
saveCompiledModules();
if (code !== null) process.exit(code);
