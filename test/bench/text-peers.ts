import { execFile } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { resolve } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { pythonProgram } from '../support/python-tools.ts';

const SCRIPT = resolve(import.meta.dirname, '../support/text-peers.py');

/** Runs a command of text-peers.py on files of texts. */
export type RunTextPeer = (command: 'fuzzy' | 'terms', ...paths: readonly string[]) => Promise<unknown>;

/** RapidFuzz and pyahocorasick; `null` when they cannot be installed here. */
export function textPeers(): RunTextPeer | null {
  const program = pythonProgram('text-tools', null);
  if (program === null) return null;
  const execute = promisify(execFile);
  return async (...words) =>
    JSON.parse((await execute(program, [SCRIPT, ...words], { maxBuffer: 2 ** 28 })).stdout) as unknown;
}

/** Writes one JSON text a line. */
export async function writeTexts(path: string, texts: Iterable<string>): Promise<void> {
  await pipeline(Readable.from(lines(texts)), createWriteStream(path));
}

function* lines(texts: Iterable<string>): Generator<string> {
  let part = '';
  for (const text of texts) {
    part += `${JSON.stringify(text)}\n`;
    if (part.length < 65_536) continue;
    yield part;
    part = '';
  }
  yield part;
}
