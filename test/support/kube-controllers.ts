import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { KubeApi } from './kube-control-plane.ts';
import { kubeTools } from './kube-tools.ts';
import type { AtEnd } from './shared-fixture.ts';

/**
 * Runs controllers of a real kube-controller-manager against a control plane.
 *
 * @param names of controllers, such as `namespace-controller`
 */
export function startKubeControllers(plane: KubeApi, names: readonly string[], atEnd: AtEnd): void {
  const programs = kubeTools('kube-controller-manager');
  if (programs === null) throw new Error('kube-controller-manager is missing');
  const child = spawn(
    programs['kube-controller-manager'],
    [
      `--kubeconfig=${plane.kubeconfig}`,
      `--controllers=${names.join(',')}`,
      '--leader-elect=false',
      // It serves nothing here, and another process may use the default port.
      '--secure-port=0',
    ],
    { cwd: plane.directory, stdio: 'ignore' },
  );
  atEnd(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  });
}
