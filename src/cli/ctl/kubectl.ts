import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { CTL_EXITS, CtlFailure } from './ctl-exits.ts';
import { checked } from './ctl-token.ts';

/** Which cluster, and what in it. */
export interface KubectlOptions {
  /** Default that of the context. */
  readonly namespace: string | undefined;
  /** Default the current one. */
  readonly context: string | undefined;
  /** What `kubectl port-forward` takes: `service/NAME`, `pod/NAME`, `deployment/NAME`. */
  readonly target: string;
  /** Port of the target, a number or a name. */
  readonly targetPort: string;
}

/** A port of this machine that leads to the service until it is closed. */
export interface PortForward {
  readonly url: URL;
  /** Ends kubectl. */
  close(): Promise<void>;
}

const START_TIMEOUT_MS = 30_000;
const STOP_TIMEOUT_MS = 5_000;
const SECRET_MAX_BYTES = 64 * 1024;
const STDERR_MAX = 2_000;
/** Source: kubectl port-forward, its line for every address that it listens on. */
const FORWARDING = /^Forwarding from 127\.0\.0\.1:(\d+) -> /;

/**
 * Starts `kubectl port-forward` to a free port of this machine and waits until it forwards.
 *
 * @param signal aborted when the command is interrupted
 * @throws CtlFailure with what kubectl said
 */
export async function forwardPort(options: KubectlOptions, signal: AbortSignal): Promise<PortForward> {
  const { target, targetPort } = options;
  const args = ['port-forward', ...selection(options), '--address', '127.0.0.1', target, `:${targetPort}`];
  // In a process group of its own, so that Ctrl-C reaches it only through close().
  const child = spawn('kubectl', args, { detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  try {
    const port = await forwardedPort(child, AbortSignal.any([signal, AbortSignal.timeout(START_TIMEOUT_MS)]));
    return { url: new URL(`http://127.0.0.1:${port}`), close: async () => await end(child) };
  } catch (error) {
    await end(child);
    signal.throwIfAborted();
    throw error;
  }
}

/**
 * Reads the token from a Secret with `kubectl get secret`.
 *
 * @param name `SECRET/KEY`
 * @throws CtlFailure
 */
export async function readTokenSecret(
  name: string,
  options: Pick<KubectlOptions, 'namespace' | 'context'>,
  signal: AbortSignal,
): Promise<string> {
  const [secret = '', key = '', ...rest] = name.split('/');
  if (secret === '' || key === '' || rest.length > 0) {
    throw new CtlFailure(CTL_EXITS.usage, `--token-secret ${name}: give it as SECRET/KEY`);
  }
  const args = ['get', 'secret', secret, ...selection(options), '-o', 'json'];
  try {
    const { stdout } = await promisify(execFile)('kubectl', args, { maxBuffer: SECRET_MAX_BYTES, signal });
    const { data } = JSON.parse(stdout) as { data?: Record<string, string> };
    const encoded = data !== undefined && Object.hasOwn(data, key) ? data[key] : undefined;
    if (encoded === undefined)
      throw new CtlFailure(CTL_EXITS.usage, `the Secret ${secret} has no key "${key}"`);
    return checked(Buffer.from(encoded, 'base64').toString('utf8'), `the Secret ${name}`);
  } catch (error) {
    signal.throwIfAborted();
    throw error instanceof CtlFailure ? error : kubectlFailure(error);
  }
}

function selection({ namespace, context }: Pick<KubectlOptions, 'namespace' | 'context'>): string[] {
  return [
    ...(context === undefined ? [] : ['--context', context]),
    ...(namespace === undefined ? [] : ['--namespace', namespace]),
  ];
}

async function forwardedPort(child: ChildProcess, signal: AbortSignal): Promise<number> {
  const { stdout, stderr } = child;
  if (stdout === null || stderr === null) throw new Error('kubectl was started without pipes');
  let said = '';
  stderr.setEncoding('utf8').on('data', (text: string) => {
    said = `${said}${text}`.slice(-STDERR_MAX);
  });
  return await new Promise<number>((resolve, reject) => {
    // Goes on reading for as long as kubectl lives, or its pipe would fill.
    createInterface({ input: stdout }).on('line', (line) => {
      const port = FORWARDING.exec(line)?.[1];
      if (port !== undefined) resolve(Number(port));
    });
    child.once('error', (error) => reject(kubectlFailure(error)));
    // Not `exit`: what it said last must have been read.
    child.once('close', (code) => {
      const reason = said.trim() === '' ? `it ended with ${code}` : said.trim();
      reject(new CtlFailure(CTL_EXITS.unreachable, `kubectl port-forward: ${reason}`));
    });
    signal.addEventListener('abort', () => {
      reject(
        new CtlFailure(
          CTL_EXITS.unreachable,
          `kubectl port-forward: no port within ${START_TIMEOUT_MS / 1000} s`,
        ),
      );
    });
  });
}

async function end(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS);
  await exited;
  clearTimeout(timer);
}

function kubectlFailure(error: unknown): CtlFailure {
  if (error instanceof Error && 'code' in error && error.code === 'ENOENT') {
    return new CtlFailure(CTL_EXITS.unreachable, 'kubectl is not installed, or not in PATH', {
      cause: error,
    });
  }
  const { stderr, message } = error as { stderr?: string; message?: string };
  const reason = stderr?.trim() || message || String(error);
  return new CtlFailure(CTL_EXITS.unreachable, `kubectl: ${reason}`, { cause: error });
}
