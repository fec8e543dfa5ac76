import { join } from 'node:path';
import { stringify } from 'yaml';

/** Address of the node, and gateway of its pods. */
export const NODE_IP = '10.244.0.1';
/** Port of metrics-server at the address of the node. */
export const METRICS_PORT = 4443;
/** Name of the node. */
export const NODE_NAME = 'node1';

/** Makes a certificate authority, and with it the certificates of the API server and of its client to the kubelet. */
export const CERTIFICATE_SCRIPT = `set -e
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -keyout ca.key -out ca.crt -subj /CN=test-ca
openssl req -newkey rsa:2048 -nodes -keyout api.key -out api.csr -subj /CN=kube-apiserver
printf 'subjectAltName=IP:127.0.0.1,IP:${NODE_IP},IP:10.96.0.1,DNS:kubernetes.default.svc,DNS:localhost' >api.ext
openssl x509 -req -in api.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 -extfile api.ext -out api.crt
openssl req -newkey rsa:2048 -nodes -keyout client.key -out client.csr -subj /O=system:masters/CN=kubelet-client
openssl x509 -req -in client.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 -out client.crt
openssl genrsa -out sa.key 2048
openssl rsa -in sa.key -pubout -out sa.pub`;

/** A kubeconfig with a token. @param ca base64 of the PEM of the authority */
export function renderKubeconfig(user: string, token: string, ca: string): string {
  return stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      { name: 'test', cluster: { server: `https://${NODE_IP}:6443`, 'certificate-authority-data': ca } },
    ],
    users: [{ name: user, user: { token } }],
    contexts: [{ name: 'test', context: { cluster: 'test', user } }],
    'current-context': 'test',
  });
}

/** The configuration of containerd that a kubelet needs. */
export function renderContainerdConfiguration(directory: string): string {
  return `version = 3
root = "${join(directory, 'containerd')}"
state = "${join(directory, 'state')}"
[grpc]
  address = "${join(directory, 'containerd.sock')}"
[plugins."io.containerd.cri.v1.images".pinned_images]
  sandbox = "localhost/pause:1"
[plugins."io.containerd.cri.v1.runtime"]
  restrict_oom_score_adj = true
  [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
      SystemdCgroup = false
  [plugins."io.containerd.cri.v1.runtime".cni]
    bin_dirs = ["/usr/lib/cni"]
    conf_dir = "${join(directory, 'cni')}"
`;
}

/** The network of the pods: a bridge with addresses from one range. */
export function renderPodNetwork(directory: string): string {
  return JSON.stringify({
    cniVersion: '1.0.0',
    name: 'pods',
    plugins: [
      {
        type: 'bridge',
        bridge: 'cni0',
        isGateway: true,
        hairpinMode: true,
        ipMasq: false,
        ipam: {
          type: 'host-local',
          dataDir: join(directory, 'ipam'),
          ranges: [[{ subnet: '10.244.0.0/24', gateway: NODE_IP }]],
          routes: [{ dst: '0.0.0.0/0' }],
        },
      },
      { type: 'portmap', capabilities: { portMappings: true } },
    ],
  });
}

/** The configuration of the kubelet. */
export function renderKubeletConfiguration(directory: string): string {
  return stringify({
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    authentication: {
      anonymous: { enabled: false },
      webhook: { enabled: true },
      x509: { clientCAFile: join(directory, 'ca.crt') },
    },
    authorization: { mode: 'AlwaysAllow' },
    // How often changed Secrets reach the pods; a minute by default.
    syncFrequency: '2s',
    cgroupDriver: 'cgroupfs',
    failCgroupV1: false,
    failSwapOn: false,
    enforceNodeAllocatable: [],
    containerRuntimeEndpoint: `unix://${join(directory, 'containerd.sock')}`,
    clusterDNS: [NODE_IP],
    clusterDomain: 'cluster.local',
    resolvConf: join(directory, 'resolv.conf'),
    staticPodPath: join(directory, 'manifests'),
    evictionHard: { 'memory.available': '50Mi', 'nodefs.available': '1%', 'imagefs.available': '1%' },
    imageGCHighThresholdPercent: 100,
    imageGCLowThresholdPercent: 99,
  });
}

/** The configuration of kube-proxy. */
export function renderKubeProxyConfiguration(directory: string): string {
  return stringify({
    apiVersion: 'kubeproxy.config.k8s.io/v1alpha1',
    kind: 'KubeProxyConfiguration',
    mode: 'iptables',
    // Pods of one node answer each other past iptables, unless the request seems to come from the node.
    iptables: { masqueradeAll: true },
    conntrack: { maxPerCore: 0, min: 0 },
    hostnameOverride: NODE_NAME,
    clientConnection: { kubeconfig: join(directory, 'kube-proxy.kubeconfig') },
  });
}

/** The configuration of CoreDNS, which runs beside the pods. */
export function renderCorefile(directory: string): string {
  return `.:53 {
  bind ${NODE_IP}
  errors
  kubernetes cluster.local {
    kubeconfig ${join(directory, 'coredns.kubeconfig')} test
  }
}
`;
}

/** The objects by which the API server finds metrics-server, which runs beside the pods. */
export function renderMetricsObjects(): string {
  const metadata = { name: 'metrics-server', namespace: 'kube-system' };
  const labels = { 'kubernetes.io/service-name': 'metrics-server' };
  const items = [
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata,
      spec: { ports: [{ name: 'https', port: 443, targetPort: METRICS_PORT }] },
    },
    {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { ...metadata, labels },
      addressType: 'IPv4',
      ports: [{ name: 'https', port: METRICS_PORT, protocol: 'TCP' }],
      endpoints: [{ addresses: [NODE_IP], conditions: { ready: true } }],
    },
    {
      apiVersion: 'apiregistration.k8s.io/v1',
      kind: 'APIService',
      metadata: { name: 'v1beta1.metrics.k8s.io' },
      spec: {
        service: { name: 'metrics-server', namespace: 'kube-system', port: 443 },
        group: 'metrics.k8s.io',
        version: 'v1beta1',
        insecureSkipTLSVerify: true,
        groupPriorityMinimum: 100,
        versionPriority: 100,
      },
    },
  ];
  return JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
}
