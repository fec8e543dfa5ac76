import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { readFile, rm, stat } from 'node:fs/promises';
import { get, type IncomingMessage } from 'node:http';
import { basename, dirname } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { parseByteRanges } from './multipart.ts';

/** One attempt of a client to complete a file. */
export interface Attempt {
  readonly url: string;
  /** Holds the bytes of earlier attempts. */
  readonly file: string;
  /** Bytes of the whole file, as a launcher knows them from its manifest. */
  readonly size: number;
  /** Aborted to kill the client, as a user or the system would. */
  readonly killed: AbortSignal;
}

/** A program, or a way to use one, that downloads files and resumes interrupted downloads. */
export interface DownloadClient {
  readonly name: string;
  /** The program's name; `null` when the client is part of the tests. */
  readonly tool: string | null;
  /** @returns whether the client reports that the file is complete */
  readonly attempt: (attempt: Attempt) => Promise<boolean>;
}

/** The clients that download a release. */
export const DOWNLOAD_CLIENTS: readonly DownloadClient[] = [
  {
    name: 'curl -C -',
    tool: 'curl',
    attempt: async ({ url, file, killed }) =>
      await run('curl', ['-sS', '--fail', '-C', '-', '-o', file, url], killed),
  },
  { name: 'curl with a list of ranges', tool: 'curl', attempt: rangeList },
  {
    name: 'wget -c',
    tool: 'wget',
    attempt: async ({ url, file, killed }) =>
      await run('wget', ['-q', '-c', '--tries=1', '-O', file, url], killed),
  },
  {
    name: 'aria2 with 16 connections',
    tool: 'aria2c',
    attempt: async ({ url, file, killed }) =>
      await run(
        'aria2c',
        [
          '-q',
          '--continue=true',
          '--max-connection-per-server=16',
          '--split=16',
          '--min-split-size=1M',
          '--max-tries=3',
          '--file-allocation=none',
          '--no-conf=true',
          `--dir=${dirname(file)}`,
          `--out=${basename(file)}`,
          url,
        ],
        killed,
      ),
  },
  { name: 'a launcher that appends blindly', tool: null, attempt: launch },
];

async function run(command: string, args: readonly string[], killed: AbortSignal): Promise<boolean> {
  const child = spawn(command, args, { stdio: 'ignore' });
  const kill = (): void => {
    child.kill('SIGKILL');
  };
  killed.addEventListener('abort', kill);
  const [code] = (await once(child, 'exit')) as [number | null];
  killed.removeEventListener('abort', kill);
  return code === 0;
}

/** Requests the file as one list of ranges in a shuffled order, and assembles it. */
async function rangeList({ url, file, size, killed }: Attempt): Promise<boolean> {
  const head = `${file}.head`;
  const parts = `${file}.parts`;
  const cuts = [0, 1, Math.floor(size / 3), Math.floor(size / 2), size - 5, size];
  const ranges = cuts.slice(1).map((end, i) => `${cuts[i] ?? 0}-${end - 1}`);
  const list = [...ranges.slice(2), ...ranges.slice(0, 2)].join(',');
  await rm(parts, { force: true });
  const whole = await run('curl', ['-sS', '--fail', '-D', head, '-o', parts, '-r', list, url], killed);
  if (!whole) return false;
  const fields = await readFile(head, 'latin1');
  const body = await readFile(parts);
  const bytes = Buffer.alloc(size);
  const type = /^content-type: (multipart\/byteranges.*)\r$/im.exec(fields)?.[1];
  // A cache that keeps slices sends the whole file instead, which is as good.
  if (type === undefined) body.copy(bytes);
  else for (const part of parseByteRanges(type, body)) part.body.copy(bytes, part.start);
  await pipeline([bytes], createWriteStream(file));
  return true;
}

/**
 * The way launchers download: if a part file exists, request the rest and append the body of any 2xx. The launcher does
 * not check that the body is the rest, so a wrong answer spoils the file for good.
 */
async function launch({ url, file, size, killed }: Attempt): Promise<boolean> {
  const have = await stat(file).then(
    (stats) => stats.size,
    () => 0,
  );
  if (have >= size) return true;
  try {
    const request = get(url, {
      agent: false,
      signal: killed,
      headers: have === 0 ? {} : { range: `bytes=${have}-` },
    });
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    const { statusCode = 0 } = response;
    if (statusCode < 200 || statusCode > 299) {
      response.destroy();
      return false;
    }
    await pipeline(response, createWriteStream(file, { flags: 'a' }));
  } catch {
    // Whatever the failure, the next attempt starts from the part file.
    return false;
  }
  return (await stat(file)).size >= size;
}
