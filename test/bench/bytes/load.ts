import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import process from 'node:process';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import type { Command } from './placement.ts';

const execute = promisify(execFile);
/** Far above any answer; wrk counts slower ones as errors, and an error ends the bench. */
const WRK_TIMEOUT_SECONDS = 30;

/** What a client did in one run. */
export interface LoadResult {
  /** Complete answers. */
  readonly requests: number;
  /** Of bodies, those of answers that were not complete at the end included. */
  readonly bytes: number;
  readonly seconds: number;
  /** Present where latency was measured. */
  readonly p99Milliseconds?: number;
}

/** What the sockets client is told. */
export interface SocketsLoad {
  readonly port: number;
  readonly connections: number;
  /** Longest time. */
  readonly seconds: number;
  /** Whole request heads, asked in turn. */
  readonly heads: readonly string[];
  /** What every answer must have. */
  readonly status: number;
  readonly bodyBytes: number;
  /** Asks at this rate and measures latencies; absent, every connection asks again at once. */
  readonly requestsPerSecond?: number;
}

/** A load that is on. */
export interface RunningLoad {
  /** Ends it before its time, and resolves with what it did. */
  end(): Promise<LoadResult>;
  readonly result: Promise<LoadResult>;
}

/** What wrk is told. */
export interface WrkLoad {
  readonly url: string;
  readonly connections: number;
  /** Whole seconds: wrk knows no others. */
  readonly seconds: number;
  readonly fields: Readonly<Record<string, string>>;
  /** Of every body. */
  readonly bodyBytes: number;
}

/** Starts the sockets client in a process of its own. */
export function startSocketsLoad(load: SocketsLoad, command: Command): RunningLoad {
  const program = join(import.meta.dirname, 'sockets-client-child.ts');
  const [first, ...rest] = [...command, process.execPath, program, JSON.stringify(load)];
  const child = spawn(first, rest, { stdio: ['pipe', 'pipe', 'inherit'] });
  const output = text(child.stdout);
  const result = once(child, 'exit').then(async ([code]) => {
    if (code !== 0) throw new Error(`the sockets client ended with ${String(code)}`);
    return JSON.parse(await output) as LoadResult;
  });
  return {
    result,
    end: async () => {
      child.stdin.end();
      return await result;
    },
  };
}

/** Runs wrk. */
export async function runWrk(load: WrkLoad, command: Command): Promise<LoadResult> {
  const [first, ...rest] = [
    ...command,
    'wrk',
    '-t1',
    `-c${load.connections}`,
    `-d${Math.ceil(load.seconds)}s`,
    `--timeout=${WRK_TIMEOUT_SECONDS}s`,
    ...Object.entries(load.fields).flatMap(([name, value]) => ['-H', `${name}: ${value}`]),
    load.url,
  ];
  const { stdout } = await execute(first, rest);
  // wrk counts from 400 on as such, whatever it calls them.
  if (/Non-2xx|Socket errors/.test(stdout)) throw new Error(`wrk on ${load.url}:\n${stdout}`);
  const requests = Number(/(\d+) requests in/.exec(stdout)?.[1] ?? Number.NaN);
  const rate = Number(/Requests\/sec:\s+([0-9.]+)/.exec(stdout)?.[1] ?? Number.NaN);
  if (!(requests > 0 && rate > 0)) throw new Error(`wrk on ${load.url} got no answers:\n${stdout}`);
  return { requests, bytes: requests * load.bodyBytes, seconds: requests / rate };
}

/** The head of a request to a URL of this machine. */
export function requestHead(
  method: string,
  url: string,
  fields: Readonly<Record<string, string>> = {},
): string {
  const { pathname, host } = new URL(url);
  const lines = Object.entries({ Host: host, ...fields }).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${method} ${pathname} HTTP/1.1\r\n${lines.join('')}\r\n`;
}
