import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import process from 'node:process';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import type { Command } from './placement.ts';

const execute = promisify(execFile);
/** Far above the time of any answer. wrk counts slower answers as errors, and an error ends the bench. */
const WRK_TIMEOUT_SECONDS = 30;

/** The result of a client run. */
export interface LoadResult {
  /** Complete answers. */
  readonly requests: number;
  /** Bytes of bodies, including those of answers that were incomplete at the end. */
  readonly bytes: number;
  readonly seconds: number;
  /** Present where latency was measured. */
  readonly p99Milliseconds?: number;
}

/** Options of the sockets client. */
export interface SocketsLoad {
  readonly port: number;
  readonly connections: number;
  /** Longest duration. */
  readonly seconds: number;
  /** Whole request heads, sent in turn. */
  readonly heads: readonly string[];
  /** The expected status of every answer. */
  readonly status: number;
  readonly bodyBytes: number;
  /**
   * Sends requests at this rate and measures latencies. If absent, every connection sends the next request immediately.
   */
  readonly requestsPerSecond?: number;
}

/** A running load. */
export interface RunningLoad {
  /** Ends it early, and resolves with its result. */
  end(): Promise<LoadResult>;
  readonly result: Promise<LoadResult>;
}

/** Options of wrk. */
export interface WrkLoad {
  readonly url: string;
  readonly connections: number;
  /** Whole seconds: wrk accepts no fractions. */
  readonly seconds: number;
  readonly fields: Readonly<Record<string, string>>;
  /** Length of every body. */
  readonly bodyBytes: number;
}

/** Starts the sockets client in its own process. */
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
  // wrk counts statuses from 400 on, although its output says otherwise.
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
