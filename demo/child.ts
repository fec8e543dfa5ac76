import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import process from 'node:process';

/** One Slipway process that `slipway dev` runs. */
export interface Child {
  readonly name: string;
  readonly pid: number;
  /** The base URL that the process says it listens on. Rejects when it ends before. */
  readonly listening: Promise<string>;
  /** Settles when the process has ended. */
  readonly exited: Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>;
  /** Asks it to end; it drains. After `graceMs` it is killed. */
  stop(graceMs: number): Promise<void>;
}

/**
 * Starts `node script --config file` as a separate process group, so that Ctrl-C in the terminal reaches it only
 * through {@link Child.stop}. The IPC channel makes it end when this process dies.
 *
 * @param env its environment
 * @param onLine called with every line it logs
 */
export function startChild(
  name: string,
  script: string,
  configurationFile: string,
  env: NodeJS.ProcessEnv,
  onLine: (line: string) => void,
): Child {
  const child = spawn(process.execPath, [script, '--config', configurationFile], {
    env,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  const { stdout, stderr } = child;
  if (stdout === null || stderr === null) throw new Error(`the ${name} was started without pipes`);
  const exited = once(child, 'exit').then(([code, signal]) => ({
    code: code as number | null,
    signal: signal as NodeJS.Signals | null,
  }));
  const listening = new Promise<string>((resolve, reject) => {
    createInterface({ input: stdout }).on('line', (line) => {
      onLine(line);
      const url = listeningUrl(line);
      if (url !== null) resolve(url);
    });
    createInterface({ input: stderr }).on('line', onLine);
    void exited.then(({ code, signal }) =>
      reject(
        new Error(
          `the ${name} ended before it was ready (${signal ?? `exit code ${code}`}); see the lines above`,
        ),
      ),
    );
    child.once('error', reject);
  });
  return {
    name,
    pid: child.pid ?? -1,
    listening,
    exited,
    stop: async (graceMs) => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill('SIGTERM');
      const timer = setTimeout(() => child.kill('SIGKILL'), graceMs);
      await exited;
      clearTimeout(timer);
    },
  };
}

/** The `url` of a `... listening` log line, or `null` for any other line. */
function listeningUrl(line: string): string | null {
  const match = /"url":"(https?:[^"]+)"/.exec(line);
  return match !== null && /"msg":"(?:daemon|server) listening"/.test(line) ? (match[1] ?? null) : null;
}
