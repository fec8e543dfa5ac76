#!/usr/bin/env node
import process from 'node:process';
import { collectHeapLess, keepProcessSmall, saveCompiledModules } from '../src/platform/process-memory.ts';

// One of several processes of a server: started by the first of them, never by hand.
keepProcessSmall();
const { runServerWorker } = await import('./compose/server-worker.ts');
const code = await runServerWorker();
saveCompiledModules();
// Bytes and reports pass through memory outside of the heap for as long as it runs.
collectHeapLess();
if (code !== null) process.exit(code);
