import process from 'node:process';
import type { ParsedUnit } from '../container/parsed-container.ts';
import { parseContainerFile, type ContainerFile } from '../container/parse-container-file.ts';
import { compileRules, type CompiledRules } from '../rules/compile-rules.ts';
import { startBusyWatch } from './busy-watch.ts';
import { MAX_UNSTORED, type ParseAnswer, type ParseRequest } from './parse-messages.ts';
import { packUnits } from './unit-batch.ts';

// The program of a process that parses containers, one at a time. It trusts nothing in them: a crash or a hang costs one
// container, because its owner kills it and starts another.

/** The owner ends a container after its time. This much later nobody did: its thread has crashed. */
const OWNER_LATE_MS = 10_000;

const busy = startBusyWatch(Number(process.argv[2]) + OWNER_LATE_MS);
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
    // The time of the owner does not count.
    busy.end();
    await promise;
    busy.begin();
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
  busy.begin();
  const outcome = await parseContainerFile(job, rules, sendUnits);
  busy.end();
  send({ kind: 'outcome', outcome });
}

process.on('message', (request: ParseRequest) => {
  if (request.kind === 'rules') rules = compileRules(request.rules);
  else if (request.kind === 'continue') noteStored();
  // An unexpected error ends the process, and its owner reports it for this container.
  else void parse(request.job);
});
process.on('disconnect', () => {
  process.exit(0);
});
