#!/usr/bin/env node
import process from 'node:process';
import { keepYoungGenerationSmall } from '../src/platform/young-generation.ts';

// Before the program is loaded: reading its modules alone would let the heap grow by some 30 MiB.
keepYoungGenerationSmall();
const { runServer } = await import('./compose/server.ts');
const code = await runServer();
if (code !== null) process.exit(code);
