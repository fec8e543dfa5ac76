/** Requests and limits of each kind, as a quota may demand them. */
const AMOUNTS = { cpu: '1', memory: '1Gi', 'ephemeral-storage': '256Mi' };
const WHOLE = { requests: AMOUNTS, limits: AMOUNTS };

/** Values that users choose between. Each must render objects that a cluster accepts. */
export const CHART_VALUES: Readonly<Record<string, object>> = {
  'the defaults': {},
  'an upstream over HTTP and every setting of size': {
    daemon: {
      config: {
        upstream: {
          kind: 'manifest',
          manifest: { url: 'http://upstream.example.org:8443/release' },
          maxFileBytes: 17_179_869_184,
        },
        snapshot: { reserveBytes: 1_125_899_906_842_624 },
      },
    },
    server: { config: { cache: { blockBytes: 268_435_456 }, log: { level: 'debug' } } },
  },
  'several pods, each with a disk of its node': {
    replicas: 3,
    storage: { kind: 'emptyDir' },
    daemon: {
      config: { upstream: { kind: 'server-info', serverInfo: { url: 'https://u.example.org/x.json' } } },
    },
  },
  'edges that scale, each with a claim of its own': {
    storage: { kind: 'ephemeral', snapshot: { storageClass: 'fast', annotations: { 'example.org/a': 'b' } } },
    autoscaling: { enabled: true, maxReplicas: 20 },
    podDisruptionBudget: { maxUnavailable: '25%' },
    daemon: {
      config: {
        upstream: {
          kind: 'slipway',
          slipway: {
            url: 'http://slipway.slipway.svc:8080',
            trustedKeys: ['/etc/slipway-origin/signing.pub'],
          },
        },
      },
      extraVolumeMounts: [{ name: 'origin-key', mountPath: '/etc/slipway-origin', readOnly: true }],
    },
    extraVolumes: [
      {
        name: 'origin-key',
        secret: { secretName: 'slipway-signing', items: [{ key: 'signing.pub', path: 'signing.pub' }] },
      },
    ],
  },
  'edges beside their origin, and an Ingress that leads to them': {
    edge: { enabled: true },
    ingress: { enabled: true, backend: 'edge', admin: true },
  },
  'edges that scale by processor time and bytes, with settings of their own': {
    fullnameOverride: 'a-name-of-a-release-that-is-as-long-as-it-may-be12',
    server: { config: { cdn: { host: 'cdn.example.org' }, auth: { public: 'token' } } },
    serviceMonitor: { enabled: true },
    prometheusRule: { enabled: true },
    daemon: { config: { attestation: { ttlSeconds: 1200 } } },
    networkPolicy: { from: [{ podSelector: {} }] },
    edge: {
      enabled: true,
      originToken: { secret: 'readers', key: 'edges' },
      server: {
        config: { shutdown: { drainSeconds: 900 } },
        resources: { requests: { cpu: '2', memory: '1Gi' } },
      },
      daemon: {
        config: { upstream: { slipway: { pollSeconds: 2 }, concurrency: 16 } },
        extraVolumeMounts: [{ name: 'more', mountPath: '/more' }],
      },
      extraVolumes: [{ name: 'more', emptyDir: {} }],
      storage: {
        whenScaled: 'Delete',
        snapshot: { size: '100Gi', storageClass: 'fast', annotations: { 'example.org/a': 'b' } },
      },
      signing: {
        existingSecret: 'edge-keys',
        privateKeys: ['new.key'],
        publicKeys: ['old.pub', 'new.pub'],
      },
      admin: { existingSecret: 'edge-tokens', tokenKeys: ['alice'] },
      service: { type: 'LoadBalancer', annotations: { 'example.org/a': 'b' } },
      autoscaling: {
        enabled: true,
        maxReplicas: 40,
        bytesMetric: { name: 'slipway_sent_bytes_per_second', averageValue: '60M' },
        scaleDownSeconds: 60,
      },
      podDisruptionBudget: { maxUnavailable: '25%' },
      pod: {
        labels: { tier: 'edge' },
        template: { spec: { hostAliases: [{ ip: '10.0.0.1', hostnames: ['a'] }] } },
        topologySpreadConstraints: [
          { maxSkew: 2, topologyKey: 'rack', whenUnsatisfiable: 'ScheduleAnyway', labelSelector: {} },
        ],
      },
    },
  },
  'edges on the disks of their nodes, behind a Gateway': {
    edge: { enabled: true, storage: { kind: 'emptyDir' }, service: { port: 8000 } },
    httpRoute: { enabled: true, backend: 'edge', parentRefs: [{ name: 'public' }] },
    podMonitor: { enabled: true },
    storage: { kind: 'emptyDir' },
    admin: { exposeControl: true },
    operator: { enabled: true },
  },
  'claims, keys and tokens that already exist': {
    storage: { snapshot: { existingClaim: 'my-snapshot' }, data: { existingClaim: 'my-data' } },
    signing: {
      existingSecret: 'my-keys',
      privateKeys: ['old.key', 'new.key'],
      publicKeys: ['old.pub', 'new.pub'],
    },
    admin: { existingSecret: 'my-tokens', tokenKeys: ['alice', 'bob'], exposeControl: true },
  },
  'an Ingress with TLS and the admin surface': {
    ingress: { enabled: true, className: 'nginx', tlsSecret: 'certificate', admin: true },
    server: { config: { cdn: { host: 'cdn.example.org' } } },
  },
  'an HTTPRoute and a ServiceMonitor': {
    httpRoute: { enabled: true, parentRefs: [{ name: 'public', namespace: 'gateways' }] },
    serviceMonitor: { enabled: true, labels: { release: 'prometheus' } },
  },
  'a PodMonitor with relabelings, alerts and a Grafana board': {
    podMonitor: {
      enabled: true,
      interval: '1m',
      scrapeTimeout: '30s',
      labels: { release: 'prometheus' },
      relabelings: [{ sourceLabels: ['__meta_kubernetes_pod_node_name'], targetLabel: 'node' }],
      metricRelabelings: [{ action: 'drop', sourceLabels: ['__name__'], regex: 'nodejs_.*' }],
    },
    prometheusRule: {
      enabled: true,
      labels: { release: 'prometheus' },
      alertLabels: { team: 'water' },
      disabled: ['SlipwayServerErrors'],
    },
    grafanaDashboard: { enabled: true, annotations: { folder: 'games' } },
    admin: { exposeControl: true },
    operator: { enabled: true },
  },
  'a pod that stops before its successor starts': {
    storage: { overlap: false },
    prometheusRule: { enabled: true },
    serviceMonitor: { enabled: true },
  },
  'names, labels and placement': {
    fullnameOverride: 'resources',
    commonLabels: { team: 'water' },
    image: {
      repository: 'registry.example.org/slipway',
      digest: `sha256:${'0'.repeat(64)}`,
      pullPolicy: 'Always',
      pullSecrets: [{ name: 'pull' }],
    },
    pod: {
      annotations: { 'example.org/a': 'b' },
      labels: { tier: 'edge' },
      priorityClassName: 'system-cluster-critical',
      nodeSelector: { disk: 'ssd' },
      tolerations: [{ key: 'ssd', operator: 'Exists' }],
      affinity: { nodeAffinity: {} },
      topologySpreadConstraints: [
        { maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'ScheduleAnyway', labelSelector: {} },
      ],
    },
    extraVolumes: [{ name: 'upstream', emptyDir: {} }],
    daemon: {
      extraVolumeMounts: [{ name: 'upstream', mountPath: '/upstream', readOnly: true }],
      config: { upstream: { kind: 'directory', directory: { path: '/upstream' } } },
      env: [{ name: 'NODE_EXTRA_CA_CERTS', value: '/upstream/ca.pem' }],
    },
    networkPolicy: { from: [{ podSelector: {} }], metricsFrom: [{ namespaceSelector: {} }], egress: [{}] },
    service: { type: 'LoadBalancer', annotations: { 'example.org/a': 'b' } },
  },
  'localization with files, secrets, a provider and an exchange volume': {
    localization: {
      enabled: true,
      files: { 'characters.csv': 'name,gender,tone,address_forms\n', 'fixture.json': '[]' },
      secrets: [
        { secret: 'provider', key: 'api-key', file: 'provider.token' },
        { secret: 'archives', key: 'excel', file: 'excel.password' },
      ],
      exchange: { size: '1Gi', storageClass: 'shared', annotations: { 'example.org/a': 'b' } },
      providerPeers: [{ ipBlock: { cidr: '203.0.113.7/32' } }],
    },
    daemon: {
      config: {
        upstream: { kind: 'manifest', manifest: { url: 'https://upstream.example.org/release' } },
        parse: {
          secrets: { excel: '/etc/slipway/secrets/excel.password' },
          rules: [{ destination: ['*.zip'], password: 'excel' }],
        },
        translation: {
          charactersFile: '/etc/slipway/localization/characters.csv',
          provider: 'llm',
          providers: {
            llm: {
              kind: 'openai',
              url: 'https://llm.example.org:8443/v1',
              model: 'm',
              tokenFile: '/etc/slipway/secrets/provider.token',
              allowHosts: ['llm.example.org'],
            },
            local: { kind: 'libretranslate', url: 'http://mt.example.org', allowHosts: ['mt.example.org'] },
          },
        },
        localized: { minState: 'translated', include: ['TableBundles/**'], minCoverage: 0.9, auto: true },
      },
    },
  },
  'localization with volumes and files that already exist': {
    localization: {
      enabled: true,
      existingConfigMap: 'my-rules',
      exchange: { existingClaim: 'my-exchange' },
    },
    storage: { snapshot: { existingClaim: 'my-snapshot' }, data: { existingClaim: 'my-data' } },
    daemon: { config: { backup: { folder: '/var/lib/slipway/data/backups' } } },
  },
  'the operator': {
    admin: { exposeControl: true },
    operator: { enabled: true, config: { reconcile: { intervalSeconds: 10 }, log: { level: 'debug' } } },
    serviceMonitor: { enabled: true },
  },
  'two operators for the whole cluster': {
    admin: { exposeControl: true },
    operator: { enabled: true, replicas: 2, namespaces: ['*'] },
  },
  'an upstream that is a local tree': {
    daemon: { config: { upstream: { kind: 'directory', directory: { path: '/upstream' } } } },
    extraVolumes: [{ name: 'upstream', persistentVolumeClaim: { claimName: 'tree', readOnly: true } }],
    networkPolicy: { egressPorts: [] },
  },
  'a registry and accounts of the platform': {
    global: {
      imageRegistry: 'registry.internal:5000',
      imagePullSecrets: ['pull', { name: 'other' }],
      team: 'x',
    },
    image: { registry: 'ignored.example.org', repository: 'games/slipway', pullSecrets: [{ name: 'own' }] },
    serviceAccount: { create: false, name: 'existing' },
    admin: { exposeControl: true },
    operator: {
      enabled: true,
      serviceAccount: { name: 'reconciler', annotations: { 'example.org/identity': 'x' } },
      tokenSecrets: ['token-one', 'token-two'],
    },
  },
  'labels that the chart sets, too': {
    commonLabels: {
      'app.kubernetes.io/part-of': 'games',
      'app.kubernetes.io/component': 'never',
      team: 'water',
    },
    pod: {
      labels: { team: 'fire', 'app.kubernetes.io/name': 'never' },
      annotations: { 'kubectl.kubernetes.io/default-container': 'daemon' },
    },
    serviceMonitor: { enabled: true, labels: { team: 'air' } },
    storage: { snapshot: { annotations: { 'helm.sh/resource-policy': 'delete' } } },
  },
  'OpenShift, which chooses the users': {
    platform: 'openshift',
    image: { pullSecrets: ['by-name', { name: 'as-an-object' }] },
    global: { imagePullSecrets: ['of-the-parent', { name: 'another' }] },
    test: { resources: { limits: { cpu: '1', memory: '256Mi' }, requests: { cpu: '1', memory: '256Mi' } } },
    admin: { exposeControl: true },
    operator: { enabled: true },
  },
  'operator pods of their own kind': {
    admin: { exposeControl: true },
    operator: {
      enabled: true,
      envFrom: [{ secretRef: { name: 'proxy' } }],
      pod: {
        annotations: { 'example.org/a': 'b' },
        labels: { tier: 'control' },
        priorityClassName: 'system-cluster-critical',
        nodeSelector: { disk: 'ssd' },
        tolerations: [{ key: 'control', operator: 'Exists', effect: 'NoSchedule' }],
        affinity: { nodeAffinity: {} },
        template: { spec: { hostAliases: [{ ip: '10.0.0.1', hostnames: ['api'] }] } },
      },
    },
  },
  'a pod template with more than the values have': {
    pod: {
      template: {
        metadata: { annotations: { 'example.org/scrape': 'never' } },
        spec: {
          schedulerName: 'batch',
          enableServiceLinks: true,
          terminationGracePeriodSeconds: 300,
          containers: [
            { name: 'server', lifecycle: { preStop: { sleep: { seconds: 3 } } } },
            {
              name: 'proxy',
              image: 'proxy:1',
              securityContext: {
                allowPrivilegeEscalation: false,
                runAsNonRoot: true,
                capabilities: { drop: ['ALL'] },
              },
            },
          ],
          initContainers: [{ name: 'daemon', securityContext: { readOnlyRootFilesystem: false } }],
          volumes: [
            { name: 'tmp', emptyDir: { sizeLimit: '1Gi' } },
            { name: 'more', emptyDir: {} },
          ],
        },
      },
    },
  },
  'a balancer of a class, and claims from snapshots': {
    service: {
      type: 'LoadBalancer',
      loadBalancerClass: 'example.org/nlb',
      nodePort: 30080,
      labels: { exposed: 'outside' },
      spec: { externalTrafficPolicy: 'Local', loadBalancerSourceRanges: ['10.0.0.0/8'], type: 'ClusterIP' },
    },
    storage: {
      snapshot: {
        accessModes: ['ReadWriteOncePod'],
        dataSource: { apiGroup: 'snapshot.storage.k8s.io', kind: 'VolumeSnapshot', name: 'yesterday' },
      },
    },
    server: { envFrom: [{ prefix: 'P_', configMapRef: { name: 'proxy' } }] },
    daemon: { envFrom: [{ secretRef: { name: 'proxy', optional: true } }] },
  },
  'objects of the user': {
    extraObjects: [
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: '{{ .Release.Name }}-more' } },
      'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ include "slipway.fullname" . }}-text\n',
    ],
  },
  'a port of its own, a proxy, and a registry with a token service elsewhere': {
    server: { config: { listen: { host: '::', port: 8000 } } },
    daemon: {
      config: {
        upstream: {
          kind: 'oci',
          oci: {
            url: 'https://registry.example.org:5000',
            repository: 'releases',
            tags: ['official'],
            trustedKeys: ['/keys'],
            tokenService: 'https://auth.example.org:5001',
          },
        },
      },
      env: [{ name: 'HTTPS_PROXY', value: 'http://proxy.example.org:3128' }],
    },
    edge: { enabled: true, server: { config: { listen: { port: 8001 } } } },
    admin: { exposeControl: true },
    operator: { enabled: true },
    networkPolicy: { dnsPorts: [53], ingress: [{ ports: [{ port: 15_008, protocol: 'TCP' }] }] },
  },
  'an Ingress whose controller refuses dots, and a route with the timeouts of its Gateway': {
    ingress: { enabled: true, admin: true, pathType: 'ImplementationSpecific' },
    httpRoute: {
      enabled: true,
      admin: true,
      parentRefs: [{ name: 'public' }],
      timeouts: { request: '', backendRequest: '' },
    },
  },
  'annotations on every object': {
    commonAnnotations: { 'example.org/owner': 'games', 'helm.sh/resource-policy': 'delete' },
    test: { annotations: { 'example.org/test': 'a' }, labels: { 'sidecar.istio.io/inject': 'false' } },
    ingress: { enabled: true },
    httpRoute: { enabled: true, parentRefs: [{ name: 'public' }] },
    edge: { enabled: true, autoscaling: { enabled: true } },
    serviceMonitor: { enabled: true },
    prometheusRule: { enabled: true },
    grafanaDashboard: { enabled: true },
    localization: { enabled: true, files: { a: 'b' } },
    admin: { exposeControl: true },
    operator: { enabled: true, replicas: 2, namespaces: ['*'] },
  },
  'all that a quota demands': {
    server: { resources: WHOLE },
    daemon: { resources: WHOLE },
    edge: { enabled: true, server: { resources: WHOLE }, daemon: { resources: WHOLE } },
    operator: { enabled: true, resources: WHOLE },
    admin: { exposeControl: true },
    test: { resources: WHOLE },
  },
  'as little as possible': {
    networkPolicy: { enabled: false },
    podDisruptionBudget: { enabled: false },
    crds: { install: false },
    server: { config: { auth: { public: 'token' } } },
  },
};

/** Values that contradict each other or do not exist, and the message that the user gets. */
export const REFUSED_VALUES: ReadonlyArray<readonly [string, object, RegExp]> = [
  ['no public base URL', { publicBaseUrl: '' }, /publicBaseUrl is missing: set the scheme and host/],
  ['a public base URL with a path', { publicBaseUrl: 'https://a.example.org/x' }, /publicBaseUrl/],
  ['a value that does not exist', { replica: 2 }, /replica/],
  ['a setting of the server that does not exist', { server: { config: { cash: {} } } }, /cash/],
  [
    'a setting of the daemon of a wrong type',
    { daemon: { config: { sync: { onStart: 'often' } } } },
    /onStart/,
  ],
  ['a key with a letter too few', { storage: { snapshot: { storageClas: 'fast' } } }, /storageClas/],
  [
    'a size that is not a quantity',
    { storage: { snapshot: { size: '50 GB' } } },
    /\/storage\/snapshot\/size.*a_quantity_such_as_20Gi/s,
  ],
  [
    'a request that is not a quantity',
    { server: { resources: { requests: { memory: '1 Gigabyte' } } } },
    /\/server\/resources\/requests\/memory/,
  ],
  ['a misspelt variable', { server: { env: [{ name: 'A', vale: 'b' }] } }, /\/server\/env\/0.*vale/],
  ['a misspelt toleration', { pod: { tolerations: [{ keys: 'a' }] } }, /\/pod\/tolerations\/0.*keys/],
  [
    'an upstream over HTTP without its URL',
    { daemon: { config: { upstream: { kind: 'manifest' } } } },
    /\/daemon\/config\/upstream.*missing property 'manifest'/,
  ],
  [
    'a server-info upstream without its URL',
    { daemon: { config: { upstream: { kind: 'server-info', serverInfo: { appVersion: '1' } } } } },
    /\/daemon\/config\/upstream\/serverInfo.*missing property 'url'/,
  ],
  [
    'a local tree without its path',
    { daemon: { config: { upstream: { kind: 'directory', directory: {} } } } },
    /\/daemon\/config\/upstream\/directory.*missing property 'path'/,
  ],
  ['a kind of upstream that does not exist', { daemon: { config: { upstream: { kind: 'ftp' } } } }, /kind/],
  [
    'two monitors for the same series',
    { serviceMonitor: { enabled: true }, podMonitor: { enabled: true } },
    /every series would exist twice/,
  ],
  [
    'pods of an upgrade that must share a node and must not',
    {
      pod: {
        affinity: {
          podAntiAffinity: {
            requiredDuringSchedulingIgnoredDuringExecution: [
              {
                topologyKey: 'kubernetes.io/hostname',
                labelSelector: { matchLabels: { 'app.kubernetes.io/name': 'slipway' } },
              },
            ],
          },
        },
      },
    },
    /required podAntiAffinity to its own labels.*Set storage\.overlap to false/,
  ],
  [
    'an anti-affinity of the pod template on shared claims',
    {
      pod: {
        template: {
          spec: {
            affinity: {
              podAntiAffinity: {
                requiredDuringSchedulingIgnoredDuringExecution: [
                  {
                    topologyKey: 'zone',
                    namespaceSelector: {},
                    labelSelector: {
                      matchExpressions: [
                        { key: 'app.kubernetes.io/component', operator: 'In', values: ['server', 'x'] },
                      ],
                    },
                  },
                ],
              },
            },
          },
        },
      },
    },
    /required podAntiAffinity to its own labels.*Set storage\.overlap to false/,
  ],
  [
    'an even spread of pods on shared claims',
    {
      pod: {
        topologySpreadConstraints: [
          {
            maxSkew: 1,
            topologyKey: 'kubernetes.io/hostname',
            whenUnsatisfiable: 'DoNotSchedule',
            labelSelector: { matchLabels: { 'app.kubernetes.io/name': 'slipway' } },
          },
        ],
      },
    },
    /DoNotSchedule and maxSkew 1.*Set storage\.overlap to false/,
  ],
  [
    'the network of the node on shared claims',
    { pod: { template: { spec: { hostNetwork: true } } } },
    /hostNetwork of the pod.*Set storage\.overlap to false/,
  ],
  [
    'a port of the node on shared claims',
    {
      pod: {
        template: {
          spec: { containers: [{ name: 'server', ports: [{ containerPort: 8080, hostPort: 80 }] }] },
        },
      },
    },
    /a hostPort of the pod.*Set storage\.overlap to false/,
  ],
  ['a setting that the chart sets', { server: { config: { metrics: { port: 1 } } } }, /metrics/],
  [
    'a taken port',
    { server: { config: { listen: { port: 9090 } } } },
    / server\.config\.listen\.port is 9090: .*9091 are taken in the pod/,
  ],
  [
    'a port that an edge cannot have',
    { edge: { enabled: true, server: { config: { listen: { port: 0 } } } } },
    /edge\.server\.config\.listen\.port is 0: a Service cannot target port 0/,
  ],
  [
    'a server that only its pod reaches',
    { server: { config: { listen: { host: '127.0.0.1' } } } },
    / server\.config\.listen\.host is 127\.0\.0\.1: .*Set it to 0\.0\.0\.0/,
  ],
  [
    'an edge that only its pod reaches',
    { edge: { enabled: true, server: { config: { listen: { host: '::1' } } } } },
    /edge\.server\.config\.listen\.host is ::1: /,
  ],
  ['several pods on one volume', { replicas: 2 }, /Set storage\.kind to ephemeral or emptyDir/],
  [
    'a scaler on one volume',
    { autoscaling: { enabled: true } },
    /Set storage\.kind to ephemeral or emptyDir/,
  ],
  [
    'a claim that is not used',
    { storage: { kind: 'emptyDir', snapshot: { existingClaim: 'mine' } } },
    /set storage\.kind to claim, or remove/,
  ],
  [
    'one claim for both volumes',
    { storage: { snapshot: { existingClaim: 'mine' }, data: { existingClaim: 'mine' } } },
    /Use two claims/,
  ],
  [
    'control over several daemons',
    { replicas: 2, storage: { kind: 'emptyDir' }, admin: { exposeControl: true } },
    /would reach a random one/,
  ],
  [
    'an operator without control',
    { operator: { enabled: true } },
    /operator\.enabled needs admin\.exposeControl/,
  ],
  [
    'a scaler and a number of pods',
    { replicas: 2, storage: { kind: 'emptyDir' }, autoscaling: { enabled: true } },
    /Leave replicas at 1/,
  ],
  [
    'a scaler whose least is more than its most',
    { storage: { kind: 'emptyDir' }, autoscaling: { enabled: true, minReplicas: 4, maxReplicas: 3 } },
    /raise maxReplicas/,
  ],
  [
    'localization in several pods',
    { replicas: 2, storage: { kind: 'emptyDir' }, localization: { enabled: true } },
    /each pod has its own daemon, so each would have its own translations and pay the providers again/,
  ],
  [
    'localization in pods that scale',
    { autoscaling: { enabled: true }, localization: { enabled: true } },
    /would have its own translations and pay the providers again/,
  ],
  [
    'a policy of localization in several pods',
    { replicas: 2, storage: { kind: 'ephemeral' }, daemon: { config: { localized: { auto: true } } } },
    /would have its own translations and pay the providers again/,
  ],
  [
    'a provider without localization',
    { daemon: { config: { translation: { providers: { mine: { kind: 'memory-only' } } } } } },
    /Set localization\.enabled to true/,
  ],
  [
    'translations on a volume that is deleted with the pod',
    { storage: { kind: 'emptyDir' }, localization: { enabled: true } },
    /localization\.enabled needs storage\.kind=claim/,
  ],
  [
    'files of localization in two places',
    { localization: { enabled: true, files: { a: 'b' }, existingConfigMap: 'mine' } },
    /put all files into the ConfigMap/,
  ],
  [
    'a file of localization in a folder',
    { localization: { enabled: true, files: { 'rules/a.json': '{}' } } },
    /a ConfigMap has no folders/,
  ],
  [
    'two secrets in one file',
    {
      localization: {
        enabled: true,
        secrets: [
          { secret: 'a', key: 'k', file: 'same' },
          { secret: 'b', key: 'k', file: 'same' },
        ],
      },
    },
    /has the file same twice/,
  ],
  [
    'a secret in a folder',
    { localization: { enabled: true, secrets: [{ secret: 'a', key: 'k', file: '../admin/token' }] } },
    /localization/,
  ],
  [
    'the databases on the exchange volume',
    {
      storage: { data: { existingClaim: 'mine' } },
      localization: { enabled: true, exchange: { existingClaim: 'mine' } },
    },
    /people reach the exchange volume, and must not reach that one/,
  ],
  [
    "an exchange folder of one's own",
    { daemon: { config: { exchange: { root: '/exchange' } } } },
    /exchange/,
  ],
  [
    'a route to edges that do not exist',
    { ingress: { enabled: true, backend: 'edge' } },
    /Set edge\.enabled to true, or ingress\.backend to origin/,
  ],
  [
    'edges of several origins',
    { replicas: 2, storage: { kind: 'emptyDir' }, edge: { enabled: true } },
    /an edge takes the older of two attestations for a step back/,
  ],
  [
    'edges that may not read their origin',
    { server: { config: { auth: { public: 'token' } } }, edge: { enabled: true } },
    /set edge\.originToken\.secret/,
  ],
  [
    'a scaler of edges whose least is more than its most',
    { edge: { enabled: true, autoscaling: { enabled: true, minReplicas: 4, maxReplicas: 3 } } },
    /raise maxReplicas/,
  ],
  [
    'edges with another origin',
    { edge: { daemon: { config: { upstream: { slipway: { url: 'https://a.example.org' } } } } } },
    /\/edge\/daemon\/config\/upstream\/slipway.*url/,
  ],
  [
    'a setting of the server of edges that does not exist',
    { edge: { server: { config: { cash: {} } } } },
    /\/edge\/server\/config.*cash/,
  ],
  ['a route without a Gateway', { httpRoute: { enabled: true } }, /name the Gateway/],
  [
    'an Ingress for another host',
    { ingress: { enabled: true, hosts: ['other.example.org'] } },
    /does not have resources\.example\.org/,
  ],
  [
    'TLS, and clients that are sent past it',
    { publicBaseUrl: 'http://a.example.org', ingress: { enabled: true, tlsSecret: 'certificate' } },
    /Begin publicBaseUrl with https/,
  ],
  [
    'keys that the chart does not make',
    { signing: { privateKeys: ['mine.key'] } },
    /name it in signing\.existingSecret/,
  ],
  [
    'tokens that the chart does not make',
    { admin: { tokenKeys: ['mine'] } },
    /name it in admin\.existingSecret/,
  ],
];
