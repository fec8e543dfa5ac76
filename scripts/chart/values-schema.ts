import { z } from 'zod';
import { RUNBOOK_ADDRESS } from '../../src/contract/problems/problem-links.ts';
import {
  environment,
  environmentFrom,
  key,
  kubernetesList,
  kubernetesObject,
  name,
  pods,
  quantity,
  resources,
  serviceAccount,
  strings,
  volumeMounts,
} from './kubernetes-fields.ts';

const MAX_PORT = 65_535;
/** Where processors are short, requests are shares: clients come before syncs, parsing and translation. */
const [SERVER_CPU, DAEMON_CPU] = ['250m', '100m'] as const;
const labels = strings.default({});
const duration = z.string().regex(/^(?:[0-9]+(?:ms|[smhd]))+$/, 'must be a duration such as 30s');
const secretName = z
  .string()
  .regex(/^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?$/, 'must be the name of a Secret')
  .describe('Name of the Secret.');
const fileName = z
  .string()
  .regex(/^[a-zA-Z0-9][-._a-zA-Z0-9]{0,252}$/, 'must be a file name of letters, digits, "-", "_" and "."');

const pullSecrets = z.array(z.union([z.strictObject({ name }), name])).default([]);

const aggregateRoles = z
  .array(z.enum(['view', 'edit']))
  .default(['view'])
  .describe(
    'Rights on ReleaseChannels for those who have roles of the cluster, in every namespace: view to read them with view, edit and admin; edit to change them with edit and admin.',
  );

const image = z
  .strictObject({
    registry: z
      .string()
      .default('')
      .describe('Registry before the repository. global.imageRegistry wins over it.'),
    repository: z.string().min(1).default('slipway').describe('Repository of the image, without a tag.'),
    tag: z.string().max(128).default('').describe("Tag of the image. Empty: the chart's appVersion."),
    digest: z
      .string()
      .regex(/^(?:sha256:[0-9a-f]{64})?$/, 'must be sha256: and 64 hexadecimal digits')
      .default('')
      .describe('Digest of the image. Wins over the tag.'),
    pullPolicy: z.enum(['Always', 'IfNotPresent', 'Never']).default('IfNotPresent'),
    pullSecrets: pullSecrets.describe('Secrets for a private registry, as {name} or as the name alone.'),
  })
  .describe('The image with all programs.');

/**
 * The values of one program of a pod. The generator puts the settings of the program in, from the schema of its configuration.
 *
 * @param cpu its request; where processors are short, requests are also the shares
 * @param settings what its `config` has, and which settings that is by default
 */
// oxlint-disable-next-line typescript/explicit-function-return-type -- the type of a schema is the schema
function program(what: string, cpu: string, settings: { readonly text: string; readonly initial: object }) {
  return z
    .strictObject({
      config: kubernetesObject.default({ ...settings.initial }).describe(settings.text),
      resources: resources(cpu, '512Mi', '1Gi'),
      env: environment,
      envFrom: environmentFrom,
      extraVolumeMounts: volumeMounts,
    })
    .describe(what);
}

const server = program('The distribution server.', SERVER_CPU, {
  text: "Settings of slipway-server (docs/reference/configuration.md), except those that the chart sets: metrics, publicBaseUrl, snapshot, attestation, the daemon's address and the tokens.",
  initial: {},
});

const daemon = program(
  'The backend daemon, a sidecar that starts before the server and stops after it.',
  DAEMON_CPU,
  {
    text: 'Settings of slipway-daemon (docs/reference/configuration.md), except those that the chart sets: listen, metrics, snapshot.root, data, signingKeyFiles. upstream is the source of the releases.',
    initial: { upstream: { kind: 'none' } },
  },
);

function volume(size: string, what: string) {
  return z
    .strictObject({
      size: quantity.default(size).describe('Size of the claim, or limit of an emptyDir.'),
      storageClass: z
        .string()
        .default('')
        .describe("Storage class of the claim. Empty: the cluster's default."),
      existingClaim: name.default('').describe('Name of an existing claim, instead of a new one.'),
      accessModes: z
        .array(z.enum(['ReadWriteOnce', 'ReadWriteOncePod', 'ReadWriteMany']))
        .min(1)
        .default(['ReadWriteOnce'])
        .describe(
          'Access modes of the claim, also of an existing one. One pod writes; ReadWriteOncePod makes the cluster enforce it, and each upgrade then has a downtime.',
        ),
      dataSource: kubernetesObject
        .default({})
        .describe('Snapshot or claim that the new claim is filled from: kind, name and apiGroup.'),
      annotations: strings.default({}).describe('Annotations of the claim.'),
    })
    .describe(what);
}

const storage = z
  .strictObject({
    kind: z
      .enum(['claim', 'ephemeral', 'emptyDir'])
      .default('claim')
      .describe(
        'claim: volumes that outlive the pod, for one pod. ephemeral: one claim per pod, deleted with it. emptyDir: disk of the node. The last two allow several pods, each of which syncs by itself.',
      ),
    overlap: z
      .boolean()
      .default(true)
      .describe(
        'For claims: whether the new pod of an upgrade starts beside the old one, and the old one stops when the new one serves. Both are on the same node, which needs room for both, unless all claims are ReadWriteMany: then the node is only preferred, and file locks must work across nodes. false: the old pod stops first, with a downtime. A claim that is ReadWriteOncePod forces that.',
      ),
    snapshot: volume('50Gi', 'The snapshot volume: the daemon writes it, the server only reads it.'),
    data: volume('2Gi', 'Databases of the daemon: tasks, releases, Translation Memory, Glossary.'),
  })
  .describe('Volumes.');

const localization = z
  .strictObject({
    enabled: z
      .boolean()
      .default(false)
      .describe(
        'Whether the daemon indexes the text of releases and keeps translations, and people can reach its exchange volume. It needs one pod and storage.kind claim. The policy is in daemon.config: translation, localized, parse, glossary and memory.',
      ),
    files: strings
      .default({})
      .describe(
        'Text files for the daemon by name, such as characters.csv or type trees. They are in the folder /etc/slipway/localization, and settings such as translation.charactersFile name them there.',
      ),
    existingConfigMap: name
      .default('')
      .describe(
        'ConfigMap with these files, instead of files. It can have binary ones, such as schemas of FlatBuffers (.bfbs).',
      ),
    secrets: z
      .array(
        z.strictObject({
          secret: secretName,
          key,
          file: fileName.describe('Name of the file below /etc/slipway/secrets.'),
        }),
      )
      .max(64)
      .default([])
      .describe(
        'Keys of Secrets as files for the daemon: API keys of providers and passwords of archives. Settings such as translation.providers.NAME.tokenFile name them below /etc/slipway/secrets.',
      ),
    exchange: volume(
      '5Gi',
      'The exchange volume: files that people import and export, patch manifests, and the backups of the databases.',
    ),
    providerPeers: kubernetesList
      .default([])
      .describe(
        'Peers that providers are reached at, on the ports of their URLs, such as [{ipBlock: {cidr: 203.0.113.7/32}}]. Empty: those of networkPolicy.egressPorts.',
      ),
    daemonResources: resources(DAEMON_CPU, '1Gi', '2Gi').describe(
      'Requests and limits of the daemon instead of daemon.resources. Besides the daemon itself, each of parse.processes may use parse.memoryMebibytes, and so may the process that patches.',
    ),
  })
  .describe('Translation of the text of releases, and the localized channel.');

const signing = z
  .strictObject({
    existingSecret: name
      .default('')
      .describe(
        'Secret with the keys of "slipway keygen". Empty: the chart generates a key once and keeps it. Required if the chart is rendered without access to the cluster (Argo CD, helm template).',
      ),
    privateKeys: z
      .array(key)
      .min(1)
      .max(8)
      .default(['signing.key'])
      .describe('Keys of the Secret that sign. Several during a rotation.'),
    publicKeys: z
      .array(key)
      .min(1)
      .max(16)
      .default(['signing.pub'])
      .describe('Keys of the Secret whose signatures the server trusts.'),
  })
  .describe('The Ed25519 key that attests releases.');

const admin = z
  .strictObject({
    existingSecret: name
      .default('')
      .describe('Secret with admin tokens. Empty: the chart generates a token once and keeps it.'),
    tokenKeys: z
      .array(key)
      .min(1)
      .max(16)
      .default(['token'])
      .describe('Keys of the Secret, one token each. Several during a rotation.'),
    exposeControl: z
      .boolean()
      .default(false)
      .describe('Whether control actions are forwarded. The operator needs it.'),
  })
  .describe('The admin surface.');

const service = z
  .strictObject({
    type: z.enum(['ClusterIP', 'NodePort', 'LoadBalancer']).default('ClusterIP'),
    port: z.int().min(1).max(MAX_PORT).default(80).describe('Port of the Service.'),
    nodePort: z
      .int()
      .min(0)
      .max(MAX_PORT)
      .default(0)
      .describe('Port on every node, for the types NodePort and LoadBalancer. 0: the cluster chooses.'),
    annotations: strings.default({}),
    labels,
    loadBalancerClass: z
      .string()
      .default('')
      .describe("Class of a Service of type LoadBalancer. Empty: the cluster's default."),
    spec: kubernetesObject
      .default({})
      .describe('Further fields of its spec, such as externalTrafficPolicy or loadBalancerSourceRanges.'),
  })
  .describe('The Service of the public port. Metrics have a separate Service that is never published.');

const routeHosts = z
  .array(z.string().min(1))
  .default([])
  .describe('Host names. Empty: the host of publicBaseUrl. Launchers need the root of a dedicated host.');
const routeAdmin = z
  .boolean()
  .default(false)
  .describe('Whether /admin is also reachable from outside. The public routes always are.');

const backend = z
  .enum(['origin', 'edge'])
  .default('origin')
  .describe('Whose Service clients are led to. /admin, if it is reachable, is always that of the origin.');

// Source: Gateway API, GEP-2257.
const gatewayDuration = z
  .string()
  .regex(/^(?:(?:[0-9]{1,5}(?:h|m|s|ms)){1,4})?$/, 'must be a duration of the Gateway API such as 0s or 5m');

const ingress = z
  .strictObject({
    enabled: z.boolean().default(false),
    backend,
    className: name.default('').describe("IngressClass. Empty: the cluster's default."),
    hosts: routeHosts,
    tlsSecret: name.default('').describe('Secret with the certificate of the hosts. Empty: no TLS here.'),
    admin: routeAdmin,
    pathType: z
      .enum(['Prefix', 'ImplementationSpecific'])
      .default('Prefix')
      .describe(
        'Prefix: paths are Prefix or Exact. ImplementationSpecific: all are that, for a controller that refuses dots in others, as ingress-nginx can from 1.8 on and does from 1.12 on.',
      ),
    annotations: strings
      .default({
        'nginx.ingress.kubernetes.io/proxy-buffering': 'off',
        'nginx.ingress.kubernetes.io/proxy-max-temp-file-size': '0',
        'nginx.ingress.kubernetes.io/proxy-http-version': '1.1',
      })
      .describe('Annotations. The defaults keep ingress-nginx from writing large files to its own disk.'),
  })
  .describe('Ingress.');

const httpRoute = z
  .strictObject({
    enabled: z.boolean().default(false),
    backend,
    parentRefs: kubernetesList.default([]).describe('Gateways to attach to, such as [{name: public}].'),
    hostnames: routeHosts,
    admin: routeAdmin,
    timeouts: z
      .strictObject({
        request: gatewayDuration
          .default('0s')
          .describe('Limit for a whole response. 0s: none, so that a long download is not cut off.'),
        backendRequest: gatewayDuration.default('').describe('Limit for one attempt at the backend.'),
      })
      .prefault({})
      .describe(
        'Timeouts of the rules. Empty: that of the Gateway. They need the Gateway API 1.2, and a Gateway that has them.',
      ),
    annotations: strings.default({}),
  })
  .describe('HTTPRoute of the Gateway API.');

const autoscaling = z
  .strictObject({
    enabled: z.boolean().default(false),
    minReplicas: z.int().min(1).default(2),
    maxReplicas: z.int().min(1).default(10),
    targetCPUUtilizationPercentage: z
      .int()
      .min(1)
      .max(1000)
      .default(70)
      .describe('Processor time of the server, in percent of its request. It needs metrics-server.'),
    bytesMetric: z
      .strictObject({
        name: z
          .string()
          .max(253)
          .default('')
          .describe('Metric of a pod: bytes sent per second. Empty: processor time alone decides.'),
        averageValue: quantity.default('50M').describe('Bytes per second of one pod.'),
      })
      .prefault({})
      .describe('A second metric, where an adapter such as prometheus-adapter serves it.'),
    scaleDownSeconds: z
      .int()
      .min(0)
      .max(3600)
      .default(600)
      .describe('How long fewer pods must have been enough. A new pod fetches its release first.'),
  })
  .describe('HorizontalPodAutoscaler, for pods that have volumes of their own.');

const podDisruptionBudget = z
  .strictObject({
    enabled: z.boolean().default(true).describe('Created only if there is more than one pod.'),
    maxUnavailable: z.union([z.int().min(1), z.string().regex(/^[0-9]{1,3}%$/)]).default(1),
  })
  .describe('How many pods may be evicted at the same time.');

const networkPolicy = z
  .strictObject({
    enabled: z.boolean().default(true),
    from: kubernetesList.default([]).describe('Peers that may reach the public port. Empty: all.'),
    metricsFrom: kubernetesList.default([]).describe('Peers that may reach the metrics ports. Empty: all.'),
    egressPorts: z
      .array(z.int().min(1).max(MAX_PORT))
      .default([80, 443])
      .describe(
        'TCP ports that the daemon may reach. The ports of the URLs of upstream, of the token service of a registry, of providers and of the proxy in daemon.env are added.',
      ),
    dnsPorts: z
      .array(z.int().min(1).max(MAX_PORT))
      .min(1)
      .default([53, 5353])
      .describe('Ports of DNS, at any address. The pods of DNS in OpenShift listen on 5353.'),
    egressTo: kubernetesList
      .default([])
      .describe('Peers that the daemon may reach on egressPorts. Empty: all but egressExcept.'),
    egressExcept: z
      .array(z.string().regex(/^[0-9A-Fa-f:.]+\/[0-9]{1,3}$/))
      .default(['169.254.0.0/16', 'fe80::/10', 'fd00:ec2::254/128'])
      .describe(
        'Networks that the daemon may not reach on these ports: link-local addresses, where clouds serve the credentials of a node.',
      ),
    ingress: kubernetesList.default([]).describe('Further ingress rules of server and daemon.'),
    egress: kubernetesList.default([]).describe('Further egress rules of server and daemon.'),
    apiServerPorts: z
      .array(z.int().min(1).max(MAX_PORT))
      .min(1)
      .default([443, 6443])
      .describe('TCP ports of the Kubernetes API, which the operator alone may reach.'),
    operatorEgress: kubernetesList.default([]).describe('Further egress rules of the operator.'),
  })
  .describe('NetworkPolicy: the daemon is never reachable from outside the pod anyway.');

// oxlint-disable-next-line typescript/explicit-function-return-type -- the type of a schema is the schema
function monitor(kind: string, more: string) {
  return z
    .strictObject({
      enabled: z.boolean().default(false),
      interval: duration.default('30s'),
      scrapeTimeout: duration.default('10s').describe('At most the interval.'),
      labels: labels.describe('Labels by which your Prometheus selects monitors.'),
      relabelings: kubernetesList.default([]).describe('Relabelings of the targets.'),
      metricRelabelings: kubernetesList.default([]).describe('Relabelings of the samples.'),
    })
    .describe(`${kind} of the Prometheus operator. ${more}`);
}

const prometheusRule = z
  .strictObject({
    enabled: z.boolean().default(false),
    labels: labels.describe('Labels by which your Prometheus selects rules.'),
    alertLabels: labels.describe('Further labels of every alert, such as the team that it pages.'),
    matchers: z
      .string()
      .default('')
      .describe(
        'Label matchers of this installation\'s series, such as job="slipway". Empty: the jobs of the chart\'s monitors.',
      ),
    runbookUrl: z
      .union([z.literal(''), z.string().regex(RUNBOOK_ADDRESS)])
      .default('')
      .describe(
        'Where alerts, problems, the console and the board find a copy of docs/runbooks, whose pages are REASON.md. Empty: on the servers, below /admin/dashboard/runbooks. server.config.runbooks.url changes it for problems and the console.',
      ),
    disabled: z
      .array(z.string().regex(/^Slipway[A-Za-z]+$/))
      .default([])
      .describe('Alerts to leave out, by name.'),
  })
  .describe('PrometheusRule of the Prometheus operator: alerts, each with a runbook.');

const grafanaDashboard = z
  .strictObject({
    enabled: z.boolean().default(false),
    labels: strings
      .default({ grafana_dashboard: '1' })
      .describe("Labels by which Grafana's sidecar finds boards."),
    annotations: strings.default({}).describe('Annotations, such as the folder of the board.'),
  })
  .describe('ConfigMap with a Grafana board.');

const operator = z
  .strictObject({
    enabled: z.boolean().default(false).describe('Whether the operator runs. It needs admin.exposeControl.'),
    replicas: z.int().min(1).max(5).default(1).describe('One is active, the others stand by.'),
    namespaces: z
      .array(z.string().min(1))
      .default([])
      .describe(
        'Namespaces to watch for ReleaseChannels. Empty: the namespace of this installation. ["*"]: all, which needs a ClusterRole.',
      ),
    tokenSecrets: z
      .array(name.min(1))
      .default([])
      .describe(
        "Further Secrets that the operator may read, by name, in each of these namespaces: those that ReleaseChannels name in adminTokenSecretRef. The Secret with this installation's admin token is always one of them.",
      ),
    config: kubernetesObject
      .default({})
      .describe(
        'Settings of slipway-operator (docs/reference/configuration.md), except those that the chart sets: kubernetes, probes, metrics, namespaces and the Lease.',
      ),
    resources: resources('50m', '192Mi', '384Mi').describe('Requests and limits.'),
    env: environment,
    envFrom: environmentFrom,
    pod: pods('The pods of the operator.', 'Empty: the pods are spread over nodes.'),
    serviceAccount: serviceAccount('The ServiceAccount of the operator. Its Roles bind whichever it is.'),
  })
  .describe('The operator, which reconciles ReleaseChannel objects.');

// oxlint-disable-next-line typescript/explicit-function-return-type -- the type of a schema is the schema
function edgeVolume(size: string, what: string) {
  const { size: limit, storageClass, annotations } = volume(size, what).shape;
  return z.strictObject({ size: limit, storageClass, annotations }).describe(what).prefault({});
}

const edge = z
  .strictObject({
    enabled: z
      .boolean()
      .default(false)
      .describe(
        'Whether the release has edges beside its origin: pods of the same kind that copy what the origin has signed, and check every byte.',
      ),
    replicas: z.int().min(1).max(1000).default(2).describe('Edges, where edge.autoscaling does not decide.'),
    originToken: z
      .strictObject({
        secret: name.default('').describe('Name of the Secret.'),
        key: key.default('token'),
      })
      .prefault({})
      .describe('Token for an origin whose server.config.auth.public is token. Needed only then.'),
    server: program('The distribution server of an edge.', SERVER_CPU, {
      text: 'Settings that differ from those in server.config. A pod that ends finishes its downloads within shutdown.drainSeconds.',
      initial: { shutdown: { drainSeconds: 300 } },
    }).prefault({}),
    daemon: program('The daemon of an edge.', DAEMON_CPU, {
      text: 'Settings of slipway-daemon; those in daemon.config are of the origin alone. The chart sets the address and the keys of the origin. upstream.slipway.pollSeconds is the time between two polls of it.',
      initial: {},
    }).prefault({}),
    extraVolumes: kubernetesList.default([]).describe('Further volumes of an edge.'),
    storage: z
      .strictObject({
        kind: z
          .enum(['claim', 'ephemeral', 'emptyDir'])
          .default('claim')
          .describe(
            'claim: a StatefulSet whose pods keep their claims over restarts and upgrades. ephemeral: a Deployment, one claim per pod, deleted with it. emptyDir: a Deployment on the disks of the nodes.',
          ),
        whenScaled: z
          .enum(['Retain', 'Delete'])
          .default('Retain')
          .describe('Whether the claims of a pod that was scaled down stay. An uninstall deletes all.'),
        snapshot: edgeVolume('50Gi', 'The copies of the releases.'),
        data: edgeVolume('2Gi', 'Databases of the daemon.'),
      })
      .prefault({})
      .describe('Volumes of an edge.'),
    signing: signing
      .describe('The key that attests what edges have checked. It is not that of the origin.')
      .prefault({}),
    admin: admin.omit({ exposeControl: true }).describe('The admin surface of edges: reports.').prefault({}),
    service: service.describe('The Service of the edges.').prefault({}),
    autoscaling: autoscaling.describe('HorizontalPodAutoscaler of the edges.').prefault({}),
    podDisruptionBudget: podDisruptionBudget
      .describe('How many edges may be evicted at the same time.')
      .prefault({}),
    pod: pods(
      'The pods of edges. Without topologySpreadConstraints they are spread over zones.',
      'Empty: the pods are spread over nodes.',
    ),
  })
  .describe('Edges of this origin. ingress.backend and httpRoute.backend lead clients to them.');

/** The values of the chart, in the order in which values.yaml and its README show them. */
export const chartValuesSchema = z.strictObject({
  nameOverride: name.default('').describe("Replaces the chart's name in the names of its objects."),
  fullnameOverride: name.default('').describe('Replaces the whole prefix of these names.'),
  commonLabels: labels.describe(
    'Labels for every object. They win over those of the chart, except over those of selectors.',
  ),
  commonAnnotations: strings
    .default({})
    .describe(
      "Annotations for every object, but not for the pods of workloads. An object's own annotations take precedence.",
    ),
  global: z
    .looseObject({
      imageRegistry: z.string().default('').describe('Registry of all images of all charts.'),
      imagePullSecrets: pullSecrets.describe('Secrets for a private registry, beside image.pullSecrets.'),
    })
    .prefault({})
    .describe('Values that a parent chart shares with all of its charts. Others than these are ignored.'),
  enabled: z
    .boolean()
    .default(true)
    .describe('For the condition of a parent chart. The chart itself does not read it.'),
  image: image.prefault({}),
  platform: z
    .enum(['', 'openshift'])
    .default('')
    .describe(
      'openshift: pods have no runAsUser, runAsGroup and fsGroup, because OpenShift chooses them. Empty: any other Kubernetes.',
    ),
  publicBaseUrl: z
    .string()
    .regex(/^(?:https?:\/\/[^/?#@]+)?$/, 'must be scheme, host and port only')
    .default('')
    .describe('Required: scheme and host that clients use, such as https://resources.example.org.'),
  replicas: z
    .int()
    .min(1)
    .max(1000)
    .default(1)
    .describe('Pods. More than one needs storage.kind other than claim.'),
  server: server.prefault({}),
  daemon: daemon.prefault({}),
  extraVolumes: kubernetesList
    .default([])
    .describe('Further volumes of the pod, such as a local tree for an upstream of kind directory.'),
  storage: storage.prefault({ snapshot: {}, data: {} }),
  localization: localization.prefault({ exchange: {} }),
  secrets: z
    .strictObject({
      generate: z
        .boolean()
        .default(false)
        .describe(
          'Whether keys and tokens may be made without access to the cluster (helm template, Argo CD), another one at each run. An install or upgrade by Helm makes them once without it.',
        ),
    })
    .prefault({})
    .describe('The Secrets that the chart makes.'),
  signing: signing.prefault({}),
  admin: admin.prefault({}),
  service: service.prefault({}),
  ingress: ingress.prefault({}),
  httpRoute: httpRoute.prefault({}),
  autoscaling: autoscaling.prefault({}),
  podDisruptionBudget: podDisruptionBudget.prefault({}),
  edge: edge.prefault({}),
  networkPolicy: networkPolicy.prefault({}),
  serviceMonitor: monitor('ServiceMonitor', 'One of it and podMonitor is enough.').prefault({}),
  podMonitor: monitor('PodMonitor', 'For a Prometheus that selects no ServiceMonitors.').prefault({}),
  prometheusRule: prometheusRule.prefault({}),
  grafanaDashboard: grafanaDashboard.prefault({}),
  operator: operator.prefault({}),
  crds: z
    .strictObject({
      install: z
        .boolean()
        .default(true)
        .describe('Whether this release installs and upgrades the CRD. An uninstall keeps it.'),
      aggregateRoles,
    })
    .prefault({})
    .describe('The CustomResourceDefinition of ReleaseChannel.'),
  pod: pods(
    'The pods of server and daemon.',
    'Empty: the pods of a release are spread over nodes. With storage.overlap, pods that share claims are on one node also with an affinity of your own.',
  ),
  podSecurityContext: kubernetesObject
    .default({
      runAsNonRoot: true,
      runAsUser: 65_532,
      runAsGroup: 65_532,
      fsGroup: 65_532,
      fsGroupChangePolicy: 'OnRootMismatch',
      seccompProfile: { type: 'RuntimeDefault' },
    })
    .describe('Security context of every pod. null removes a field. For OpenShift set platform instead.'),
  securityContext: kubernetesObject
    .default({
      allowPrivilegeEscalation: false,
      privileged: false,
      readOnlyRootFilesystem: true,
      runAsNonRoot: true,
      runAsUser: 65_532,
      runAsGroup: 65_532,
      capabilities: { drop: ['ALL'] },
    })
    .describe('Security context of every container. null removes a field.'),
  serviceAccount: serviceAccount('The ServiceAccount of server and daemon. Neither talks to Kubernetes.'),
  test: z
    .strictObject({
      resources: kubernetesObject
        .default({
          requests: { cpu: '50m', memory: '96Mi', 'ephemeral-storage': '16Mi' },
          limits: { memory: '256Mi', 'ephemeral-storage': '64Mi' },
        })
        .describe('Requests and limits.'),
      annotations: strings.default({}),
      labels,
    })
    .prefault({})
    .describe('The pod of `helm test`.'),
  extraObjects: z
    .array(z.union([kubernetesObject, z.string()]))
    .default([])
    .describe('Further objects of the release, as objects or as text. Both are templates.'),
  progressDeadlineSeconds: z
    .int()
    .min(60)
    .default(3600)
    .describe('Time for a rollout. A pod is ready when its first release is synced and attested.'),
});

/** The values of the chart slipway-crds. */
export const crdsValuesSchema = z.strictObject({
  commonLabels: labels.describe(
    'Labels for every object. They win over those of the chart, except over name, instance and component.',
  ),
  commonAnnotations: strings
    .default({})
    .describe("Annotations for every object. An object's own annotations take precedence."),
  global: kubernetesObject.default({}).describe('Values that charts share. The chart does not read them.'),
  enabled: z
    .boolean()
    .default(true)
    .describe('For the condition of a parent chart. The chart itself does not read it.'),
  aggregateRoles,
});

/** The parsed values of the chart. */
export type ChartValues = z.output<typeof chartValuesSchema>;
