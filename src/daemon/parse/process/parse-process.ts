import process from 'node:process';
import { Worker } from 'node:worker_threads';
import type { ParsedUnit } from '../container/parsed-container.ts';
import { parseContainerFile, type ContainerFile } from '../container/parse-container-file.ts';
import { compileRules, type CompiledRules } from '../rules/compile-rules.ts';
import { MAX_UNSTORED, type ParseAnswer, type ParseRequest } from './parse-messages.ts';
import { packUnits } from './unit-batch.ts';

// The program of a process that parses containers, one at a time. It trusts nothing in them: a crash or a hang costs one
// container, because its owner kills it and starts another.

let rules: CompiledRules | null = null;
/** Messages with units that the owner has not stored yet. */
let unstored = 0;
let continueSending: (() => void) | null = null;

function send(answer: ParseAnswer): void {
  // The owner that no longer listens has ended; so does this process, by the event `disconnect`.
  if (process.connected) process.send?.(answer, () => undefined);
}

async function sendUnits(units: readonly ParsedUnit[]): Promise<void> {
  if (unstored === MAX_UNSTORED) {
    const { promise, resolve } = Promise.withResolvers<void>();
    continueSending = resolve;
    await promise;
  }
  unstored += 1;
  send({ kind: 'units', units: packUnits(units) });
}

function noteStored(): void {
  unstored -= 1;
  continueSending?.();
}

async function parse(job: ContainerFile): Promise<void> {
  if (rules === null) throw new Error('the rules come before the first container');
  send({ kind: 'outcome', outcome: await parseContainerFile(job, rules, sendUnits) });
}

new Worker(new URL('./orphan-watch.ts', import.meta.url), { workerData: process.ppid, execArgv: [] }).unref();
process.on('message', (request: ParseRequest) => {
  if (request.kind === 'rules') rules = compileRules(request.rules);
  else if (request.kind === 'continue') noteStored();
  // An unexpected error ends the process, and its owner reports it for this container.
  else void parse(request.job);
});
process.on('disconnect', () => {
  process.exit(0);
});
