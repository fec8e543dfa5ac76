import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, openSync, readdirSync, rmdirSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { kubeTools } from './kube-tools.ts';
import {
  CERTIFICATE_SCRIPT,
  NODE_IP,
  NODE_NAME,
  renderContainerdConfiguration,
  renderCorefile,
  renderKubeconfig,
  renderKubeletConfiguration,
  renderMetricsObjects,
  METRICS_PORT,
  renderKubeProxyConfiguration,
  renderPodNetwork,
} from './kube-node-files.ts';
import { hasTool } from './tools.ts';
import { until } from './until.ts';

/** Folders of control groups that a kubelet makes. */
const KUBELET_CGROUP = 'kubepods';

/** A whole single-node Kubernetes, in its own network, mount and process namespaces. */
export interface KubeNode {
  /** Kubeconfig of the admin; only processes in the network of the node can use it. */
  readonly kubeconfig: string;
  /** Address of the node, for programs that run beside the pods. */
  readonly address: string;
  readonly directory: string;
  /** Command prefix that runs a program in the network of the node. */
  readonly enter: readonly string[];
  /** Loads an image that `docker save` wrote. */
  importImage(archive: string): void;
  stop(): Promise<void>;
}

/** The command of the image for pod sandboxes: it sleeps. */
export const PAUSE_COMMAND = ['/bin/busybox', 'sleep', '1000000000'];

/**
 * The programs of a node, built if they are missing.
 *
 * @returns `null` when they are missing and cannot be built here, or this user is not root
 */
export function kubeNodePrograms(): Readonly<Record<string, string>> | null {
  if (process.getuid?.() !== 0) {
    if (process.env['CI'] === 'true') throw new Error('a Kubernetes node needs root');
    console.warn('SKIPPED: tests in a Kubernetes node: they need root');
    return null;
  }
  const tools = ['runc', 'iptables', 'conntrack', 'ip', 'openssl', 'busybox', 'bash', 'nsenter', 'flock'];
  if (!tools.every((name) => hasTool(name))) return null;
  return kubeTools(
    'etcd',
    'kube-apiserver',
    'kube-controller-manager',
    'kube-scheduler',
    'kubelet',
    'kubectl',
    'kube-proxy',
    'containerd',
    'containerd-shim-runc-v2',
    'ctr',
    'coredns',
    'metrics-server',
  );
}

/**
 * Starts etcd, the control plane, containerd, kubelet, kube-proxy, CoreDNS and metrics-server, which a HorizontalPodAutoscaler
 * reads. They are isolated from the machine and all end with one process. One node runs at a time on a machine; the others wait.
 *
 * @param programs see {@link kubeNodePrograms}
 */
export async function startKubeNode(programs: Readonly<Record<string, string>>): Promise<KubeNode> {
  // Short, because sockets lie below it.
  const directory = await mkdtemp(join(tmpdir(), 'kn-'));
  const holder = spawn(
    'flock',
    [
      // The lock lasts as long as the node: a kubelet ends pods that it does not know, also those of another node.
      '--no-fork',
      join(tmpdir(), 'slipway-kube-node.lock'),
      'unshare',
      '--net',
      '--mount',
      '--pid',
      '--fork',
      '--kill-child',
      '--mount-proc',
      // Reaps the orphans of its process namespace, and ends when its input closes, also when the test is killed.
      'bash',
      '-c',
      'echo ready; cat >/dev/null',
    ],
    { stdio: ['pipe', 'pipe', 'inherit'] },
  );
  const node = new Node(directory, holder, programs);
  try {
    await once(holder.stdout, 'data');
    await node.start();
    return node;
  } catch (error) {
    const logs = await nodeLogs(directory);
    await node.stop();
    throw new Error(`the node did not start:\n${logs}`, { cause: error });
  }
}

class Node implements KubeNode {
  readonly directory: string;
  readonly kubeconfig: string;
  readonly address = NODE_IP;
  readonly #holder: ChildProcess;
  readonly #programs: Readonly<Record<string, string>>;
  readonly #tokens = new Map<string, string>();
  #pid = '';

  constructor(directory: string, holder: ChildProcess, programs: Readonly<Record<string, string>>) {
    this.directory = directory;
    this.kubeconfig = join(directory, 'admin.kubeconfig');
    this.#holder = holder;
    this.#programs = programs;
  }

  get enter(): readonly string[] {
    return ['nsenter', `--target=${this.#pid}`, '--net'];
  }

  async start(): Promise<void> {
    // unshare is the parent; its child lives in the namespaces.
    this.#pid = run('cat', `/proc/${this.#holder.pid}/task/${this.#holder.pid}/children`).trim();
    for (const folder of ['log', 'cni', 'manifests']) await mkdir(join(this.directory, folder));
    this.#setUpNetwork();
    this.#makeCertificates();
    await this.#writeTokens();
    await this.#startControlPlane();
    await this.#startContainerd();
    await this.#startNodeAgents();
    await until(() => {
      const list = this.#kubectl(
        'get',
        'node',
        NODE_NAME,
        '-o',
        'jsonpath={.status.conditions[?(@.type=="Ready")].status}',
      );
      return list === 'True';
    });
    await this.#startMetrics();
  }

  importImage(archive: string): void {
    run(
      ...this.enter,
      this.#program('ctr'),
      `--address=${this.#at('containerd.sock')}`,
      '-n',
      'k8s.io',
      'images',
      'import',
      archive,
    );
  }

  async stop(): Promise<void> {
    if (this.#holder.exitCode === null && this.#holder.signalCode === null) {
      const exited = once(this.#holder, 'exit');
      // When the first process of the namespace ends, all others die; the mounts go with the last one.
      this.#holder.kill('SIGKILL');
      await exited;
    }
    await until(async () => {
      await rm(this.directory, { recursive: true, force: true });
      return true;
    });
    removeControlGroups();
  }

  #at(...parts: readonly string[]): string {
    return join(this.directory, ...parts);
  }

  #program(name: string): string {
    const path = this.#programs[name];
    if (path === undefined) throw new Error(`no program ${name}`);
    return path;
  }

  #kubectl(...args: readonly string[]): string {
    return run(...this.enter, this.#program('kubectl'), `--kubeconfig=${this.kubeconfig}`, ...args);
  }

  /** Starts a program in every namespace of the node, with its output in a log. */
  #start(name: string, args: readonly string[]): void {
    const log = openSync(this.#at('log', name), 'a');
    const all = ['--net', '--mount', '--pid'];
    const child = spawn('nsenter', [`--target=${this.#pid}`, ...all, this.#program(name), ...args], {
      cwd: this.directory,
      stdio: ['ignore', log, log],
      env: {
        ...process.env,
        PATH: `${join(this.#program('ctr'), '..')}:${process.env['PATH']}`,
        HOME: this.directory,
      },
    });
    child.on('error', () => {});
    closeSync(log);
  }

  async #startMetrics(): Promise<void> {
    const kubeconfig = this.#at('metrics-server.kubeconfig');
    this.#start('metrics-server', [
      `--kubeconfig=${kubeconfig}`,
      `--authentication-kubeconfig=${kubeconfig}`,
      `--authorization-kubeconfig=${kubeconfig}`,
      `--cert-dir=${this.#at('metrics')}`,
      `--bind-address=${NODE_IP}`,
      `--secure-port=${METRICS_PORT}`,
      '--kubelet-insecure-tls',
      '--kubelet-preferred-address-types=InternalIP',
      // The shortest that it takes; one answer must come within it.
      '--metric-resolution=10s',
      '--kubelet-request-timeout=5s',
    ]);
    const file = this.#at('metrics.json');
    await writeFile(file, renderMetricsObjects());
    this.#kubectl('apply', '-f', file);
    // Until it answers, clients that ask for all APIs get errors.
    await until(() =>
      this.#kubectl('get', '--raw', '/apis/metrics.k8s.io/v1beta1/nodes').includes('"usage"'),
    );
  }

  #setUpNetwork(): void {
    // The bridge needs its own address. Otherwise it takes the lowest address of its pods, and when that pod ends, the
    // other pods send to a dead address for about ten seconds, until they resolve it again.
    const script = `set -e
ip link set lo up
ip link add cni0 address 0a:58:0a:f4:00:01 type bridge
ip address add ${NODE_IP}/24 dev cni0
ip link set cni0 up
ip route add default dev cni0
echo 1 >/proc/sys/net/ipv4/ip_forward`;
    run(...this.enter, 'sh', '-c', script);
  }

  #makeCertificates(): void {
    run('sh', '-c', `cd ${this.directory} && { ${CERTIFICATE_SCRIPT}\n} 2>&1`);
  }

  async #writeTokens(): Promise<void> {
    const users: ReadonlyArray<readonly [string, string, string]> = [
      ['admin', 'admin', 'system:masters'],
      ['kubelet', `system:node:${NODE_NAME}`, 'system:nodes'],
      ['kube-controller-manager', 'system:kube-controller-manager', ''],
      ['kube-scheduler', 'system:kube-scheduler', ''],
      ['kube-proxy', 'system:kube-proxy', ''],
      ['coredns', 'coredns', 'system:masters'],
      ['metrics-server', 'metrics-server', 'system:masters'],
    ];
    const ca = (await readFile(this.#at('ca.crt'))).toString('base64');
    let rows = '';
    for (const [name, user, groups] of users) {
      const token = randomBytes(16).toString('hex');
      this.#tokens.set(name, token);
      rows += `${token},${user},${user},"${groups}"\n`;
      await writeFile(this.#at(`${name}.kubeconfig`), renderKubeconfig(name, token, ca), { mode: 0o600 });
    }
    await writeFile(this.#at('tokens.csv'), rows, { mode: 0o600 });
  }

  async #startControlPlane(): Promise<void> {
    this.#start('etcd', [`--data-dir=${this.#at('etcd')}`, '--unsafe-no-fsync', '--log-level=error']);
    this.#start('kube-apiserver', [
      '--etcd-servers=http://127.0.0.1:2379',
      '--secure-port=6443',
      `--advertise-address=${NODE_IP}`,
      `--tls-cert-file=${this.#at('api.crt')}`,
      `--tls-private-key-file=${this.#at('api.key')}`,
      `--client-ca-file=${this.#at('ca.crt')}`,
      `--kubelet-client-certificate=${this.#at('client.crt')}`,
      `--kubelet-client-key=${this.#at('client.key')}`,
      '--kubelet-preferred-address-types=InternalIP',
      // The API server passes requests for metrics on, in the name of those who ask.
      `--requestheader-client-ca-file=${this.#at('ca.crt')}`,
      '--requestheader-allowed-names=kubelet-client',
      '--requestheader-username-headers=X-Remote-User',
      '--requestheader-group-headers=X-Remote-Group',
      '--requestheader-extra-headers-prefix=X-Remote-Extra-',
      `--proxy-client-cert-file=${this.#at('client.crt')}`,
      `--proxy-client-key-file=${this.#at('client.key')}`,
      '--authorization-mode=Node,RBAC',
      `--token-auth-file=${this.#at('tokens.csv')}`,
      '--service-cluster-ip-range=10.96.0.0/16',
      '--service-account-issuer=https://kubernetes.default.svc',
      `--service-account-key-file=${this.#at('sa.pub')}`,
      `--service-account-signing-key-file=${this.#at('sa.key')}`,
      '--allow-privileged=true',
    ]);
    await until(() => this.#kubectl('get', '--raw', '/readyz') === 'ok');
    this.#start('kube-controller-manager', [
      `--kubeconfig=${this.#at('kube-controller-manager.kubeconfig')}`,
      '--use-service-account-credentials',
      `--service-account-private-key-file=${this.#at('sa.key')}`,
      `--root-ca-file=${this.#at('ca.crt')}`,
      '--leader-elect=false',
      '--horizontal-pod-autoscaler-sync-period=5s',
    ]);
    this.#start('kube-scheduler', [
      `--kubeconfig=${this.#at('kube-scheduler.kubeconfig')}`,
      '--leader-elect=false',
    ]);
  }

  async #startContainerd(): Promise<void> {
    await writeFile(this.#at('containerd.toml'), renderContainerdConfiguration(this.directory));
    await writeFile(this.#at('cni/10-bridge.conflist'), renderPodNetwork(this.directory));
    this.#start('containerd', [`--config=${this.#at('containerd.toml')}`]);
    const version = ['nsenter', `--target=${this.#pid}`, '--net', this.#program('ctr')];
    await until(() => run(...version, `--address=${this.#at('containerd.sock')}`, 'version') !== '');
  }

  async #startNodeAgents(): Promise<void> {
    await writeFile(this.#at('resolv.conf'), `nameserver ${NODE_IP}\n`);
    await writeFile(this.#at('kubelet.yaml'), renderKubeletConfiguration(this.directory));
    this.#start('kubelet', [
      `--config=${this.#at('kubelet.yaml')}`,
      `--kubeconfig=${this.#at('kubelet.kubeconfig')}`,
      `--root-dir=${this.#at('kubelet')}`,
      `--hostname-override=${NODE_NAME}`,
      `--node-ip=${NODE_IP}`,
    ]);
    await writeFile(this.#at('kube-proxy.yaml'), renderKubeProxyConfiguration(this.directory));
    this.#start('kube-proxy', [`--config=${this.#at('kube-proxy.yaml')}`]);
    await writeFile(this.#at('Corefile'), renderCorefile(this.directory));
    this.#start('coredns', ['-conf', this.#at('Corefile')]);
  }
}

/** The end of every log of the node in a folder, for the message of a failing test. */
export async function nodeLogs(directory: string): Promise<string> {
  const folder = join(directory, 'log');
  const texts = readdirSync(folder).map(async (name) => {
    const text = await readFile(join(folder, name), 'utf8');
    return `== ${name}\n${text.slice(-2_000)}`;
  });
  return (await Promise.all(texts)).join('\n');
}

/** Control groups outlive their processes. */
function removeControlGroups(): void {
  const root = '/sys/fs/cgroup';
  for (const parent of ['', ...readdirSync(root)]) removeControlGroup(join(root, parent, KUBELET_CGROUP));
}

function removeControlGroup(path: string): void {
  try {
    for (const entry of readdirSync(path, { withFileTypes: true })) {
      if (entry.isDirectory()) removeControlGroup(join(path, entry.name));
    }
    rmdirSync(path);
  } catch {
    // It does not exist, or the kernel is still clearing it.
  }
}

function run(...command: readonly string[]): string {
  const [program = '', ...args] = command;
  const result = spawnSync(program, args, { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 });
  if (result.status !== 0) {
    throw new Error(`${command.join(' ')} failed:\n${result.stdout}${result.stderr}`);
  }
  return result.stdout;
}
