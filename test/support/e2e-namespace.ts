import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, onTestFinished } from 'vitest';
import type { E2eCluster } from './e2e-cluster.ts';
import { HELD_DOWNLOADS_SCRIPT, LOAD_SCRIPT, outsideObjects } from './e2e-outside.ts';
import { until, WAIT_MS } from './until.ts';

/** Each probe starts a program, which takes processor time from the pods that it waits for. */
const LONGEST_PAUSE_MS = 400;
/** The host of the resources of every installation. */
export const CDN_HOST = 'cdn.test.invalid';

/** The response of a GET. A connection that failed has status 0, and the reason as its text. */
export interface E2eResponse {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly text: string;
}

/** The results of the clients of {@link E2eNamespace.startLoad}. */
export interface LoadCounts {
  /** Requests on a connection of their own. */
  readonly single: number;
  /** Requests on connections that are used again. */
  readonly kept: number;
  /** The reasons of the requests without a complete response with status 200. */
  readonly lost: readonly string[];
}

/** Clients that send requests. */
export interface Load {
  /** Ends the clients and returns what they counted. */
  stop(): Promise<LoadCounts>;
}

/** The states of an object, one line for each change. */
export interface Watch {
  readonly lines: readonly string[];
  stop(): void;
}

/** A namespace with installations of the chart, and a pod `outside` that is their client and their upstream. */
export class E2eNamespace {
  readonly #cluster: E2eCluster;
  readonly #name: string;

  constructor(cluster: E2eCluster, name: string) {
    this.#cluster = cluster;
    this.#name = name;
  }

  /** Runs kubectl in the namespace. */
  readonly kubectl = (args: readonly string[], input?: string): string =>
    this.#cluster.kubectl(['-n', this.#name, ...args], input);

  /** Creates the namespace and the pod, and waits until names are resolved. */
  readonly create = async (): Promise<void> => {
    const { kubectl, image } = this.#cluster;
    kubectl(['create', 'namespace', this.#name]);
    kubectl(['label', 'namespace', this.#name, 'pod-security.kubernetes.io/enforce=restricted']);
    kubectl(['apply', '-f', '-'], JSON.stringify(outsideObjects(this.#name, image)));
    await this.eventually(
      'the client runs',
      () => this.kubectl(['get', 'pod', 'outside', '-o', 'jsonpath={.status.phase}']) === 'Running',
    );
    await this.eventually(
      'names are resolved',
      () => this.get(`http://outside.${this.#name}.svc:9000/x/y`).status === 404,
    );
  };

  /** Runs a module in the client pod; returns its output. */
  readonly client = (code: string, ...args: readonly string[]): string =>
    this.kubectl(['exec', 'outside', '--', 'node', '--input-type=module', '-e', code, ...args]);

  /** Sends a GET from the client pod; the text has at most 4096 characters. */
  readonly get = (url: string, headers: object = {}): E2eResponse =>
    JSON.parse(
      this.client(
        `const [url, headers] = process.argv.slice(1);
         const { status, headers: fields, text } = await fetch(url, { headers: JSON.parse(headers) }).then(
           async (response) => ({ status: response.status, headers: response.headers, text: await response.text() }),
           (error) => ({ status: 0, headers: [], text: String(error.cause ?? error) }),
         );
         console.log(JSON.stringify({ status, headers: Object.fromEntries(fields), text: text.slice(0, 4096) }));`,
        url,
        JSON.stringify(headers),
      ),
    ) as E2eResponse;

  /** The values of an installation. */
  readonly valuesOf = (name: string): object => ({
    fullnameOverride: name,
    image: this.#cluster.image,
    publicBaseUrl: 'http://resources.test.invalid',
    storage: { kind: 'emptyDir', snapshot: { size: '1Gi' }, data: { size: '1Gi' } },
    admin: { exposeControl: true },
    crds: { install: false },
    // A server that gets little of a busy machine answers late, and must not lose its endpoint for that.
    pod: {
      template: { spec: { containers: [{ name: 'server', readinessProbe: { timeoutSeconds: 30 } }] } },
    },
    server: {
      config: { cdn: { host: CDN_HOST }, cache: { blockBytes: 16_777_216 } },
      resources: { requests: { cpu: '10m', memory: '128Mi' } },
    },
    daemon: {
      config: {
        upstream: { kind: 'manifest', manifest: { url: `http://outside.${this.#name}.svc:9000/${name}` } },
        // The tests decide when damage is repaired.
        repair: { automatic: false },
      },
      resources: { requests: { cpu: '10m', memory: '128Mi' } },
    },
  });

  readonly install = (name: string, more: object = {}): void => {
    this.#cluster.helm(['upgrade', '--install', name, '-n', this.#name], { ...this.valuesOf(name), ...more });
  };

  readonly uninstallAtEnd = (name: string): void => {
    onTestFinished(() => {
      this.#cluster.helm(['uninstall', name, '-n', this.#name, '--ignore-not-found']);
    });
  };

  /** Lets upstream answer, with this release. */
  readonly openUpstream = (name: string, release = `R-${name}`): void => {
    expect(this.get(`http://outside.${this.#name}.svc:9000/${name}/open/${release}`)).toMatchObject({
      status: 200,
    });
  };

  readonly closeUpstream = (name: string): void => {
    expect(this.get(`http://outside.${this.#name}.svc:9000/${name}/close`).status).toBe(404);
  };

  readonly podOf = (name: string): string =>
    this.kubectl([
      'get',
      'pods',
      '--field-selector=status.phase=Running',
      '-l',
      `app.kubernetes.io/instance=${name},app.kubernetes.io/component=server`,
      '-o',
      'jsonpath={.items[0].metadata.name}',
    ]);

  /** Runs a module in the daemon's container. */
  readonly inDaemon = (name: string, code: string): string =>
    this.kubectl(['exec', this.podOf(name), '-c', 'daemon', '--', 'node', '--input-type=module', '-e', code]);

  /** Requests an action of the daemon; returns the status of the response. */
  readonly control = (name: string, action: string): string =>
    this.inDaemon(
      name,
      `import { readFileSync } from 'node:fs';
       const token = readFileSync('/var/lib/slipway/pair/api.token', 'utf8').trim();
       const headers = { authorization: 'Bearer ' + token };
       const response = await fetch('http://127.0.0.1:8091/v1/control/${action}', { method: 'POST', headers });
       console.log(response.status);`,
    );

  /** The number of pods that get requests of the Service. */
  readonly readyPods = (name: string): number => {
    const list = this.kubectl([
      'get',
      'endpointslices',
      '-l',
      `kubernetes.io/service-name=${name}`,
      '-o',
      'jsonpath={.items[*].endpoints[?(@.conditions.ready==true)].addresses[0]}',
    ]);
    return list.split(' ').filter(Boolean).length;
  };

  /** Waits, and reports the state of the cluster if it waits in vain. */
  readonly eventually = async (what: string, probe: () => boolean | Promise<boolean>): Promise<void> => {
    await until(probe, WAIT_MS, LONGEST_PAUSE_MS).catch(async (error: unknown) => {
      const pods = this.kubectl(['describe', 'pods']);
      const events = this.kubectl(['get', 'events']);
      throw new Error(`${what}:\n${pods}\n${events}\n${await this.#cluster.logs()}`, { cause: error });
    });
  };

  /** Installs a release that stays until the test ends. */
  readonly serve = async (name: string, more: object = {}): Promise<void> => {
    this.uninstallAtEnd(name);
    this.openUpstream(name);
    this.install(name, more);
    await this.untilServed(name);
  };

  /** Waits until clients reach the only pod of an installation through its Service. */
  readonly untilServed = async (name: string): Promise<void> => {
    await this.eventually(`${name} is served`, () => this.readyPods(name) === 1);
    // The proxy of the node learns of an address a moment later than the API server.
    const url = `http://${name}.${this.#name}.svc/readyz`;
    await this.eventually(`${name} is reached`, () => this.get(url).status === 200);
  };

  /** Waits until a pod is gone, and clients reach its only successor. */
  readonly untilReplaced = async (name: string, before: string): Promise<void> => {
    await this.eventually(
      `${before} is gone`,
      () => this.kubectl(['get', 'pods', '--ignore-not-found', '-o', 'name', before]) === '',
    );
    await this.untilServed(name);
  };

  /** Changes one byte of the film on the volume. */
  readonly damageFilm = (name: string): void => {
    this.inDaemon(
      name,
      `import { chmodSync, globSync, openSync, statSync, writeSync } from 'node:fs';
       const files = globSync('/var/lib/slipway/snapshot/store/objects/*/*');
       const [film] = files.filter((file) => statSync(file).size === 8388608);
       chmodSync(film, 0o600);
       writeSync(openSync(film, 'r+'), 'X', 4000000);`,
    );
  };

  /**
   * Makes volumes for the claims of an installation: folders of the node. A cluster elsewhere is expected to have a storage class.
   */
  readonly createVolumes = async (name: string, parts: readonly string[]): Promise<void> => {
    if (this.#cluster.enter === null) return;
    for (const part of parts) {
      const path = join(this.#cluster.directory, `${name}-${part}`);
      await mkdir(path);
      await chmod(path, 0o777);
      const volume = {
        apiVersion: 'v1',
        kind: 'PersistentVolume',
        metadata: { name: `${name}-${part}` },
        spec: {
          capacity: { storage: '1Gi' },
          accessModes: ['ReadWriteOnce'],
          hostPath: { path },
          claimRef: { namespace: this.#name, name: `${name}-${part}` },
        },
      };
      this.#cluster.kubectl(['apply', '-f', '-'], JSON.stringify(volume));
    }
  };

  /**
   * Sends requests from the client pod until it is stopped, on new and on kept connections.
   *
   * @param calm by what the pauses between requests are multiplied; by default the load leaves most of the processor to the pods
   */
  readonly startLoad = async (url: string, calm = 3): Promise<Load> => {
    const { tell } = await this.#startClient(LOAD_SCRIPT, [url, String(calm)]);
    return { stop: async () => JSON.parse(await tell('stop')) as LoadCounts };
  };

  /**
   * Begins downloads from the client pod.
   *
   * @returns what ends them; it returns the bytes of each, or why it broke off
   */
  readonly holdDownloads = async (url: string): Promise<() => Promise<ReadonlyArray<number | string>>> => {
    const { tell } = await this.#startClient(HELD_DOWNLOADS_SCRIPT, [url]);
    return async () => JSON.parse(await tell('read on')) as Array<number | string>;
  };

  /**
   * Records the states of objects, without a gap between two of them.
   *
   * @param objects arguments of `kubectl get`
   * @param jsonpath what of an object makes a line
   */
  readonly watch = async (objects: readonly string[], jsonpath: string): Promise<Watch> => {
    const child = this.#start(['get', ...objects, '--watch', '-o', `jsonpath=${jsonpath}{"\\n"}`]);
    const lines: string[] = [];
    createInterface({ input: child.stdout }).on('line', (line) => lines.push(line));
    await until(() => lines.length > 0);
    return {
      lines,
      stop: () => {
        child.kill();
      },
    };
  };

  /** Starts a module in the client pod that says when it has begun; `tell` sends it a line, and returns its answer when it has ended. */
  async #startClient(
    code: string,
    args: readonly string[],
  ): Promise<{ readonly tell: (line: string) => Promise<string> }> {
    const run = ['node', '--input-type=module', '-e', code, ...args];
    const child = this.#start(['exec', '--stdin', 'outside', '--', ...run]);
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    expect(await lines.next()).toMatchObject({ value: 'begun' });
    return {
      tell: async (line) => {
        child.stdin.end(`${line}\n`);
        const { value } = await lines.next();
        if (child.exitCode === null) await once(child, 'exit');
        return String(value);
      },
    };
  }

  /** Starts kubectl; it ends with the test. */
  #start(args: readonly string[]): ChildProcessWithoutNullStreams {
    const child = this.#cluster.startKubectl(['-n', this.#name, ...args]);
    onTestFinished(() => {
      child.kill();
    });
    return child;
  }
}
