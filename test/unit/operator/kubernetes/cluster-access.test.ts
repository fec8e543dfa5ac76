import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { inClusterAccess } from '../../../../src/operator/kubernetes/cluster-access.ts';
import { kubeconfigAccess, KubeconfigError } from '../../../../src/operator/kubernetes/kubeconfig.ts';
import { loadClusterAccess } from '../../../../src/operator/kubernetes/load-cluster-access.ts';
import { createTokenSource } from '../../../../src/operator/kubernetes/token-source.ts';
import { FakeClock } from '../../../fakes/fake-clock.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

const base64 = (text: string): string => Buffer.from(text).toString('base64');

async function kubeconfig(user: object, cluster: object = {}): Promise<string> {
  const path = join(await temporaryDirectory(), 'config');
  const config = {
    clusters: [{ name: 'c', cluster: { server: 'https://api.example.org:6443/', ...cluster } }],
    users: [{ name: 'u', user }],
    contexts: [
      { name: 'one', context: { cluster: 'c', user: 'u', namespace: 'team' } },
      { name: 'two', context: { cluster: 'c', user: 'u' } },
    ],
    'current-context': 'one',
  };
  await writeFile(path, stringify(config));
  return path;
}

describe('a kubeconfig', () => {
  it('gives server, certificates, token and namespace, inline or by path', async () => {
    const path = await kubeconfig(
      { tokenFile: 'token', 'client-certificate-data': base64('CERT'), 'client-key-data': base64('KEY') },
      { 'certificate-authority': 'ca.pem' },
    );
    await writeFile(join(path, '../ca.pem'), 'CA');
    expect(await kubeconfigAccess(path, null)).toEqual({
      server: 'https://api.example.org:6443',
      ca: 'CA',
      certificate: { cert: 'CERT', key: 'KEY' },
      token: { kind: 'file', path: join(path, '../token') },
      namespace: 'team',
    });
    expect((await kubeconfigAccess(path, 'two')).namespace).toBe('default');
  });

  it.each([
    ['credentials from a program', { exec: { command: 'aws' } }, {}, 'from a program or a password'],
    ['a password', { username: 'u', password: 'p' }, {}, 'from a program or a password'],
    [
      'an unverified server',
      { token: 't' },
      { 'insecure-skip-tls-verify': true },
      'insecure-skip-tls-verify',
    ],
    ['a server that is no URL', { token: 't' }, { server: 'api' }, 'no usable kubeconfig'],
  ])('with %s is refused in a sentence', async (_what, user, cluster, message) => {
    await expect(kubeconfigAccess(await kubeconfig(user, cluster), null)).rejects.toThrow(message);
  });

  it('without the context that is asked for is refused', async () => {
    const path = await kubeconfig({ token: 't' });
    await expect(kubeconfigAccess(path, 'three')).rejects.toThrow('has no context "three"');
  });
});

describe('the access to a cluster', () => {
  it('of a pod is its service account', async () => {
    const directory = await temporaryDirectory();
    await writeFile(join(directory, 'ca.crt'), 'CA');
    await writeFile(join(directory, 'namespace'), 'slipway\n');
    const env = { KUBERNETES_SERVICE_HOST: 'fd00::1', KUBERNETES_SERVICE_PORT: '443' };
    expect(await inClusterAccess(env, directory)).toMatchObject({
      server: 'https://[fd00::1]:443',
      ca: 'CA',
      namespace: 'slipway',
      token: { kind: 'file', path: `${directory}/token` },
    });
    expect(await inClusterAccess({}, directory)).toBeNull();
  });

  it('is the configured kubeconfig, then KUBECONFIG, then that of the home folder', async () => {
    const [first, second] = [await kubeconfig({ token: 'first' }), await kubeconfig({ token: 'second' })];
    const home = await temporaryDirectory();
    const tokenOf = async (config: object, env: Record<string, string>): Promise<unknown> =>
      (await loadClusterAccess(config, env)).token;
    expect(await tokenOf({ kubeconfig: first }, { KUBECONFIG: second })).toMatchObject({ token: 'first' });
    expect(await tokenOf({}, { KUBECONFIG: second, HOME: home })).toMatchObject({ token: 'second' });
    await expect(loadClusterAccess({}, { HOME: home })).rejects.toThrow(KubeconfigError);
    await mkdir(join(home, '.kube'));
    await writeFile(join(home, '.kube/config'), await import('node:fs').then((fs) => fs.readFileSync(first)));
    expect(await tokenOf({}, { HOME: home })).toMatchObject({ token: 'first' });
  });
});

describe('a token file', () => {
  it('is read again after a minute, and at once when the token was refused', async () => {
    const path = join(await temporaryDirectory(), 'token');
    const clock = new FakeClock();
    await writeFile(path, 'one\n');
    const source = createTokenSource({ kind: 'file', path }, clock);
    expect(await source.read()).toBe('one');
    await writeFile(path, 'two\n');
    expect(await source.read()).toBe('one');
    expect(await source.read(true)).toBe('two');
    await writeFile(path, 'three\n');
    await clock.advance(60_001);
    expect(await source.read()).toBe('three');
  });
});
