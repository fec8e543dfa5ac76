import { once } from 'node:events';
import { readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { e2eCluster, type E2eCluster } from '../../support/e2e-cluster.ts';
import { guideExamples, missingLine } from '../../support/guide-examples.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const GUIDE = 'docs/tutorials/kubernetes-quickstart.md';
const SAMPLE = 'manifests/samples/demo-upstream.yaml';

const cluster = e2eCluster();

describe.skipIf(cluster === null)('the quickstart', () => {
  const { kubectl, startShell, image, logs } = cluster ?? ({} as E2eCluster);
  const name = `${image?.repository}:${image?.tag}`;

  afterAll(() => {
    if (cluster !== null) kubectl(['delete', 'namespace', 'slipway', '--ignore-not-found', '--wait=false']);
  });

  /** A folder in which the commands find the chart and the samples; only the name of the image is another one. */
  async function clone(): Promise<string> {
    const folder = await temporaryDirectory();
    await symlink(join(ROOT, 'charts'), join(folder, 'charts'));
    const sample = (await readFile(join(ROOT, SAMPLE), 'utf8')).replace('slipway:0.1.0', name);
    expect(sample).toContain(name);
    await writeFile(join(folder, 'upstream.yaml'), sample);
    return folder;
  }

  it('goes as the guide says, from the upstream to the removal', async () => {
    const cwd = await clone();
    const examples = guideExamples(await readFile(join(ROOT, GUIDE), 'utf8'));
    expect(examples.length).toBe(8);
    for (const { script, shown } of examples) {
      const here = script
        .replace(SAMPLE, 'upstream.yaml')
        .replace(
          'charts/slipway',
          `charts/slipway --set image.repository=${image.repository} --set image.tag=${image.tag}`,
        );
      const shell = startShell(here, cwd);
      if (script.includes('port-forward')) {
        // It is that of the second terminal.
        onTestFinished(() => {
          shell.kill();
        });
        await once(shell.stdout, 'data');
        continue;
      }
      const [out, err] = await Promise.all([text(shell.stdout), text(shell.stderr), once(shell, 'close')]);
      const context = async (): Promise<string> =>
        `${script}\n${out}\n${err}\n${kubectl(['-n', 'slipway', 'get', 'pods,events'])}\n${await logs()}`;
      if (shell.exitCode !== 0) throw new Error(await context());
      expect(missingLine(shown, out), `${script}\n${out}`).toBe(null);
    }
    expect((await stat(join(cwd, 'Localize000.csv'))).size).toBeGreaterThan(100);
  });
});
