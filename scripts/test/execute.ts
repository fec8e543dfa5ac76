import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import process from 'node:process';

/** Runs a command, then writes the processor time of it and its children; these cannot write to the same place. */
const TIMED = '"$@" 3>&-; code=$?; times >&3; exit $code';

/** How a command ended. */
export interface Execution {
  /** The exit code; 127 when the command cannot be started. */
  readonly code: number;
  /** User and system time of the command and of the children that it waited for. */
  readonly processorSeconds: number;
}

/**
 * Runs a command to its end.
 *
 * @param label when given, begins every line of output: for commands that run side by side
 */
export async function execute(command: string, args: readonly string[], label = ''): Promise<Execution> {
  const child = spawn('sh', ['-c', TIMED, 'sh', command, ...args], {
    stdio: ['ignore', ...outputsFor(label), 'pipe'],
  });
  for (const output of [child.stdout, child.stderr]) if (output !== null) printLines(output, label);
  let times = '';
  child.stdio[3]?.on('data', (part: Buffer) => (times += part.toString()));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code: code ?? 1, processorSeconds: processorSecondsIn(times) };
}

/**
 * Reads what the shell's `times` prints: user and system time of the shell, then of its children, as in `1m2.34s 0m0.50s`.
 *
 * @returns seconds of both; 0 for other texts
 */
export function processorSecondsIn(times: string): number {
  const parts = [...times.matchAll(/(\d+)m([\d.,]+)s/gu)];
  return parts.reduce(
    (sum, [, minutes, seconds]) => sum + Number(minutes) * 60 + Number(seconds?.replace(',', '.')),
    0,
  );
}

function outputsFor(label: string): ['inherit', 'inherit'] | ['pipe', 'pipe'] {
  return label === '' ? ['inherit', 'inherit'] : ['pipe', 'pipe'];
}

function printLines(output: Readable, label: string): void {
  createInterface({ input: output }).on('line', (line) => {
    process.stdout.write(`${label.padEnd(12)}| ${line}\n`);
  });
}
