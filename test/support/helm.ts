import { spawnSync } from 'node:child_process';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { parseAllDocuments } from 'yaml';

const ROOT = resolve(import.meta.dirname, '../..');

/** The chart of this repository. */
export const CHART = join(ROOT, 'charts/slipway');

/** Output and exit code of a program. */
export interface ProgramRun {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A Kubernetes object, with the fields that tests read. */
export interface KubeObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly data?: Readonly<Record<string, string>>;
  readonly rules?: unknown;
  // oxlint-disable-next-line typescript/no-explicit-any -- objects of any kind; a test names what it expects
  readonly spec?: any;
}

/** Runs Helm with its own folders and, when given, a cluster. */
export function runHelm(
  helm: string,
  args: readonly string[],
  options: { readonly home: string; readonly kubeconfig?: string; readonly input?: string },
): ProgramRun {
  const { home, kubeconfig, input } = options;
  const run = spawnSync(helm, args, {
    encoding: 'utf8',
    cwd: ROOT,
    ...(input === undefined ? {} : { input }),
    env: {
      PATH: process.env['PATH'],
      // It ends before its garbage is worth collecting, which takes a third of its processor time.
      GOGC: 'off',
      HOME: home,
      HELM_CACHE_HOME: join(home, 'cache'),
      HELM_CONFIG_HOME: join(home, 'config'),
      HELM_DATA_HOME: join(home, 'data'),
      // Never use the cluster of the developer.
      KUBECONFIG: kubeconfig ?? '/dev/null',
    },
  });
  return { code: run.status, stdout: run.stdout, stderr: run.stderr };
}

/** Parses what `helm template` printed. */
export function parseObjects(text: string): KubeObject[] {
  return parseAllDocuments(text)
    .map((document) => document.toJS() as KubeObject | null)
    .filter((object) => object !== null);
}
