import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import process from 'node:process';

/**
 * Runs a command to its end.
 *
 * @param label when given, begins every line of output: for commands that run side by side
 * @returns the exit code; 127 when the command cannot be started
 */
export async function execute(command: string, args: readonly string[], label = ''): Promise<number> {
  return await new Promise<number>((resolve) => {
    const child = spawn(command, args, { stdio: ['ignore', ...outputsFor(label)] });
    for (const output of [child.stdout, child.stderr]) if (output !== null) printLines(output, label);
    child.once('error', (error) => {
      console.error(`${command} could not be started: ${error.message}`);
      resolve(127);
    });
    child.once('close', (code) => resolve(code ?? 1));
  });
}

function outputsFor(label: string): ['inherit', 'inherit'] | ['pipe', 'pipe'] {
  return label === '' ? ['inherit', 'inherit'] : ['pipe', 'pipe'];
}

function printLines(output: Readable, label: string): void {
  createInterface({ input: output }).on('line', (line) => {
    process.stdout.write(`${label.padEnd(12)}| ${line}\n`);
  });
}
