import { chmod, mkdir, writeFile } from 'node:fs/promises';
import type { RequestOptions } from 'node:https';
import { join } from 'node:path';
import type { KubeConfig } from '@kubernetes/client-node';
import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import {
  KubeConfigError,
  loadKubeConfig,
  namespaceOf,
} from '../../../../src/platform/kubernetes/kube-config.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

const base64 = (text: string): string => Buffer.from(text).toString('base64');

async function kubeconfig(user: object, cluster: object = {}, name = ''): Promise<string> {
  const path = join(await temporaryDirectory(), 'config');
  const config = {
    clusters: [{ name: `c${name}`, cluster: { server: 'https://api.example.org:6443/', ...cluster } }],
    users: [{ name: `u${name}`, user }],
    contexts: [
      { name: `one${name}`, context: { cluster: `c${name}`, user: `u${name}`, namespace: 'team' } },
      { name: `two${name}`, context: { cluster: `c${name}`, user: `u${name}` } },
    ],
    'current-context': `one${name}`,
  };
  await writeFile(path, stringify(config));
  return path;
}

/** The credentials of a call. */
async function credentialsOf(config: KubeConfig): Promise<RequestOptions> {
  const options: RequestOptions = {};
  await config.applyToHTTPSOptions(options);
  return options;
}

const bearer = (token: string): object => ({ headers: { Authorization: `Bearer ${token}` } });

describe('a kubeconfig', () => {
  it('gives server, certificates, token and namespace, inline or by path', async () => {
    const file = await kubeconfig(
      { tokenFile: 'token', 'client-certificate-data': base64('CERT'), 'client-key-data': base64('KEY') },
      { 'certificate-authority': 'ca.pem' },
    );
    await writeFile(join(file, '../ca.pem'), 'CA');
    await writeFile(join(file, '../token'), 'one\n');
    const config = await loadKubeConfig({ file, env: {} });
    expect([config.getCurrentCluster()?.server, namespaceOf(config)]).toEqual([
      'https://api.example.org:6443',
      'team',
    ]);
    const { ca, cert, key, headers } = await credentialsOf(config);
    expect([ca, cert, key].map(String)).toEqual(['CA', 'CERT', 'KEY']);
    expect(headers).toEqual({ Authorization: 'Bearer one' });
    expect(namespaceOf(await loadKubeConfig({ file, context: 'two', env: {} }))).toBe('default');
  });

  it('whose token file rotates gives the new token without delay', async () => {
    const file = await kubeconfig({ tokenFile: 'token' });
    const config = await loadKubeConfig({ file, env: {} });
    for (const token of ['one', 'two']) {
      await writeFile(join(file, '../token'), token);
      expect(await credentialsOf(config)).toMatchObject(bearer(token));
    }
  });

  it('runs the program that prints credentials', async () => {
    const directory = await temporaryDirectory();
    const command = join(directory, 'login');
    const credential = { kind: 'ExecCredential', status: { token: 'from-program' } };
    await writeFile(command, `#!/bin/sh\necho '${JSON.stringify(credential)}'\n`);
    await chmod(command, 0o755);
    const file = await kubeconfig({
      exec: { apiVersion: 'client.authentication.k8s.io/v1', command, interactiveMode: 'Never' },
    });
    expect(await credentialsOf(await loadKubeConfig({ file, env: {} }))).toMatchObject(
      bearer('from-program'),
    );
  });

  it.each([
    ['a server that is not a URL', { server: 'api' }, 'is not a URL'],
    ['an unverified server', { 'insecure-skip-tls-verify': true }, 'insecure-skip-tls-verify'],
  ])('with %s is rejected in a sentence', async (_what, cluster, message) => {
    const file = await kubeconfig({ token: 't' }, cluster);
    const loading = loadKubeConfig({ file, env: {}, requireVerifiedTls: true });
    await expect(loading).rejects.toThrow(message);
    await expect(loading).rejects.toThrow(KubeConfigError);
  });

  it('that is malformed, or lacks the context, is rejected', async () => {
    const file = await kubeconfig({ token: 't' });
    await expect(loadKubeConfig({ file, context: 'three', env: {} })).rejects.toThrow(
      'has no context "three"',
    );
    await writeFile(file, '{');
    await expect(loadKubeConfig({ file, env: {} })).rejects.toThrow('is not a usable kubeconfig');
    await expect(loadKubeConfig({ file: '/nowhere', env: {} })).rejects.toThrow('ENOENT');
  });
});

describe('the access to a cluster', () => {
  it('of a pod is its service account', async () => {
    const serviceAccountDirectory = await temporaryDirectory();
    const env = { KUBERNETES_SERVICE_HOST: 'fd00::1', KUBERNETES_SERVICE_PORT: '443', HOME: '/nowhere' };
    await expect(loadKubeConfig({ env, serviceAccountDirectory })).rejects.toThrow(
      'automountServiceAccountToken',
    );
    for (const [name, text] of [
      ['ca.crt', 'CA'],
      ['namespace', 'slipway\n'],
      ['token', 'pod-token\n'],
    ] as const) {
      await writeFile(join(serviceAccountDirectory, name), text);
    }
    const config = await loadKubeConfig({ env, serviceAccountDirectory });
    expect([config.getCurrentCluster()?.server, namespaceOf(config)]).toEqual([
      'https://[fd00::1]:443',
      'slipway',
    ]);
    expect(await credentialsOf(config)).toMatchObject(bearer('pod-token'));
  });

  it('is the configured kubeconfig, then KUBECONFIG, then that of the home folder', async () => {
    const [first, second] = [await kubeconfig({ token: 'first' }), await kubeconfig({ token: 'second' })];
    const HOME = await temporaryDirectory();
    const tokenOf = async (file: string | undefined, env: Record<string, string>): Promise<unknown> =>
      (await loadKubeConfig({ file, env })).getCurrentUser()?.token;
    expect(await tokenOf(first, { KUBECONFIG: second })).toBe('first');
    expect(await tokenOf(undefined, { KUBECONFIG: second, HOME })).toBe('second');
    await expect(tokenOf(undefined, { HOME })).rejects.toThrow('no cluster is configured');
    await mkdir(join(HOME, '.kube'));
    await writeFile(join(HOME, '.kube/config'), await import('node:fs').then((fs) => fs.readFileSync(first)));
    expect(await tokenOf(undefined, { HOME })).toBe('first');
  });

  it('is put together from files of KUBECONFIG that hold only a part each, or nothing', async () => {
    const directory = await temporaryDirectory();
    const parts: Readonly<Record<string, object | string>> = {
      empty: '',
      comment: '# written by kubectl later\n',
      current: { 'current-context': 'here' },
      nulls: { clusters: null, users: null, contexts: null },
      cluster: { clusters: [{ name: 'c', cluster: { server: 'https://api.example.org' } }] },
      rest: {
        users: [{ name: 'u', user: { tokenFile: 'token' } }],
        contexts: [{ name: 'here', context: { cluster: 'c', user: 'u', namespace: 'team' } }],
      },
    };
    for (const [name, part] of Object.entries(parts)) {
      await writeFile(join(directory, name), typeof part === 'string' ? part : stringify(part));
    }
    await writeFile(join(directory, 'token'), 'from-file');
    const list = Object.keys(parts).map((name) => join(directory, name));
    const config = await loadKubeConfig({ env: { KUBECONFIG: list.join(':') } });
    expect([config.getCurrentCluster()?.server, namespaceOf(config)]).toEqual([
      'https://api.example.org',
      'team',
    ]);
    expect(await credentialsOf(config)).toMatchObject(bearer('from-file'));
    await expect(loadKubeConfig({ env: { KUBECONFIG: '/nowhere:/neither' } })).rejects.toThrow(
      'KUBECONFIG names no file that exists: /nowhere, /neither',
    );
  });

  it('merges the files of KUBECONFIG: the first that sets a name wins, missing ones are skipped', async () => {
    const files = [
      await kubeconfig({ token: 'first' }),
      '/nowhere',
      await kubeconfig({ token: 'shadowed' }),
      await kubeconfig({ token: 'other' }, {}, '-other'),
    ];
    const env = { KUBECONFIG: files.join(':') };
    expect((await loadKubeConfig({ env })).getCurrentUser()?.token).toBe('first');
    expect((await loadKubeConfig({ env, context: 'two-other' })).getCurrentUser()?.token).toBe('other');
  });
});
