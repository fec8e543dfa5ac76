import { spawn, spawnSync, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { inject } from 'vitest';
import type { StartedCluster } from './e2e-node.ts';
import { CHART } from './helm.ts';
import { nodeLogs } from './kube-node.ts';
import { kubeTools } from './kube-tools.ts';

/** A cluster that really runs pods, with the image loaded. */
export interface E2eCluster {
  /** Values that name the image. */
  readonly image: { readonly repository: string; readonly tag: string; readonly pullPolicy: string };
  /** Runs kubectl. @throws Error with what it printed when it fails */
  readonly kubectl: (args: readonly string[], input?: string) => string;
  /** Starts kubectl with its input and output connected. */
  readonly startKubectl: (args: readonly string[]) => ChildProcessWithoutNullStreams;
  /** Starts a script of bash that finds kubectl and Helm, in a folder. It is in the cluster's network. */
  readonly startShell: (script: string, cwd: string) => ChildProcessWithoutNullStreams;
  /** Runs Helm; with values, on the chart. */
  readonly helm: (args: readonly string[], values?: object) => string;
  /**
   * The command prefix that runs a program of this machine in the cluster's network; `null` for a cluster elsewhere.
   */
  readonly enter: readonly string[] | null;
  readonly directory: string;
  /** The end of the logs of its programs; empty for a cluster elsewhere. */
  readonly logs: () => Promise<string>;
}

/** The cluster that all files share; `null` when there is none. */
export function e2eCluster(): E2eCluster | null {
  const started = inject('e2eCluster');
  return started === null ? null : clusterOf(started);
}

function clusterOf({ kubeconfig, image, enter, directory }: StartedCluster): E2eCluster {
  const programs = kubeTools('helm', 'kubectl');
  if (programs === null) throw new Error('helm and kubectl are missing');
  const env = {
    PATH: process.env['PATH'],
    HOME: directory,
    KUBECONFIG: kubeconfig,
    HELM_CACHE_HOME: join(directory, 'helm/cache'),
    HELM_CONFIG_HOME: join(directory, 'helm/config'),
    HELM_DATA_HOME: join(directory, 'helm/data'),
  };
  const command = (words: readonly string[]): [string, string[]] => {
    const [program = '', ...args] = [...(enter ?? []), ...words];
    return [program, args];
  };
  const run = (words: readonly string[], input?: string): string => {
    const result = spawnSync(...command(words), {
      encoding: 'utf8',
      env,
      maxBuffer: 16 * 1024 * 1024,
      ...(input === undefined ? {} : { input }),
    });
    if (result.status !== 0) {
      throw new Error(`${words.join(' ')} failed:\n${result.stdout}${result.stderr}`);
    }
    return result.stdout.trim();
  };
  const colon = image.lastIndexOf(':');
  return {
    image: {
      repository: image.slice(0, colon),
      tag: image.slice(colon + 1),
      pullPolicy: enter === null ? 'IfNotPresent' : 'Never',
    },
    kubectl: (args, input) => run([programs.kubectl, ...args], input),
    startShell: (script, cwd) =>
      spawn(...command(['bash', '--norc', '-euo', 'pipefail', '-c', script]), {
        cwd,
        env: { ...env, PATH: `${dirname(programs.kubectl)}:${dirname(programs.helm)}:${env.PATH}` },
      }),
    startKubectl: (args) => spawn(...command([programs.kubectl, ...args]), { env }),
    helm: (args, values) =>
      values === undefined
        ? run([programs.helm, ...args])
        : run([programs.helm, ...args, CHART, '--values', '-'], JSON.stringify(values)),
    enter,
    directory,
    logs: async () => (enter === null ? '' : await nodeLogs(directory)),
  };
}
