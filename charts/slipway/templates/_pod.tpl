{{/* The template of the pods of server and daemon: metadata and spec. */}}
{{- define "slipway.podTemplate" -}}
metadata:
  labels: {{- include "slipway.labels" (dict "root" . "more" .Values.pod.labels) | nindent 4 }}
  {{- /* Both programs read their configuration when they start. */}}
  {{- $checksum := printf "%s\n%s" (include "slipway.serverConfig" .) (include "slipway.daemonConfig" .) | sha256sum }}
  {{- $annotations := dict "kubectl.kubernetes.io/default-container" "server" "checksum/config" $checksum }}
  {{- if and .Values.localization.enabled .Values.localization.files }}
  {{- $_ := set $annotations "checksum/localization" (.Values.localization.files | toJson | sha256sum) }}
  {{- end }}
  annotations: {{- toYaml (mergeOverwrite $annotations .Values.pod.annotations) | nindent 4 }}
spec:
  {{- include "slipway.pullSecrets" . | nindent 2 }}
  serviceAccountName: {{ include "slipway.serviceAccountName" (dict "values" .Values.serviceAccount "default" (include "slipway.fullname" .)) }}
  automountServiceAccountToken: false
  enableServiceLinks: false
  terminationGracePeriodSeconds: {{ include "slipway.gracePeriod" . }}
  securityContext: {{- include "slipway.podSecurityContext" . | nindent 4 }}
  {{- include "slipway.placement" .Values.pod | nindent 2 }}
  affinity: {{- include "slipway.affinity" . | nindent 4 }}
  initContainers:
    # A native sidecar: it starts before the server and stops after it.
    - name: daemon
      image: {{ include "slipway.image" . }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      restartPolicy: Always
      command: [node, cmd/daemon-supervisor.ts, --config, /etc/slipway/config/daemon.yaml]
      {{- with .Values.daemon.env }}
      env: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .Values.daemon.envFrom }}
      envFrom: {{- toYaml . | nindent 8 }}
      {{- end }}
      ports:
        - { name: daemon-metrics, containerPort: 9091, protocol: TCP }
      # The supervisor starts a daemon again that died or hangs; the container, and with it the pod, stays ready. The
      # probe is the last resort: when the daemon did not answer for ten minutes, its attestation has expired anyway.
      # The daemon listens only on loopback, which other probes cannot reach.
      livenessProbe:
        exec:
          command:
            - node
            - -e
            - 'fetch("http://127.0.0.1:8091/healthz").then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))'
        periodSeconds: 60
        timeoutSeconds: 10
        failureThreshold: 10
      resources: {{- toYaml (.Values.localization.enabled | ternary .Values.localization.daemonResources .Values.daemon.resources) | nindent 8 }}
      securityContext: {{- include "slipway.securityContext" . | nindent 8 }}
      volumeMounts:
        - { name: config, mountPath: /etc/slipway/config, readOnly: true }
        - { name: signing, mountPath: /etc/slipway/signing, readOnly: true }
        - { name: snapshot, mountPath: /var/lib/slipway/snapshot }
        - { name: data, mountPath: /var/lib/slipway/data }
        - { name: pair, mountPath: /var/lib/slipway/pair }
        - { name: tmp, mountPath: /tmp }
        {{- with .Values.localization }}
        {{- if .enabled }}
        - { name: exchange, mountPath: /var/lib/slipway/exchange }
        {{- if or .files .existingConfigMap }}
        - { name: localization, mountPath: /etc/slipway/localization, readOnly: true }
        {{- end }}
        {{- if .secrets }}
        - { name: secrets, mountPath: /etc/slipway/secrets, readOnly: true }
        {{- end }}
        {{- end }}
        {{- end }}
        {{- if .Origin }}
        - { name: origin, mountPath: /etc/slipway/origin, readOnly: true }
        {{- end }}
        {{- with .Values.daemon.extraVolumeMounts }}{{ toYaml . | nindent 8 }}{{ end }}
  containers:
    - name: server
      image: {{ include "slipway.image" . }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      command: [node, cmd/server.ts, --config, /etc/slipway/config/server.yaml]
      env:
        # For people: slipway ctl, run in this container, asks this server.
        - { name: SLIPWAY_CTL_TOKEN_FILE, value: /etc/slipway/admin/{{ first .Values.admin.tokenKeys }} }
        {{- if ne (include "slipway.httpPort" .) "8080" }}
        - { name: SLIPWAY_CTL_URL, value: "http://127.0.0.1:{{ include "slipway.httpPort" . }}" }
        {{- end }}
        {{- with .Values.server.env }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      {{- with .Values.server.envFrom }}
      envFrom: {{- toYaml . | nindent 8 }}
      {{- end }}
      ports:
        - { name: http, containerPort: {{ include "slipway.httpPort" . }}, protocol: TCP }
        - { name: metrics, containerPort: 9090, protocol: TCP }
      # The metrics port asks the public port over loopback, where clients cannot use up the connections of a probe.
      startupProbe:
        httpGet: { path: /healthz, port: metrics }
        periodSeconds: 2
        timeoutSeconds: 2
        failureThreshold: 60
      livenessProbe:
        httpGet: { path: /healthz, port: metrics }
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 6
      readinessProbe:
        httpGet: { path: /readyz, port: metrics }
        periodSeconds: 2
        timeoutSeconds: 2
        failureThreshold: 2
      resources: {{- toYaml .Values.server.resources | nindent 8 }}
      securityContext: {{- include "slipway.securityContext" . | nindent 8 }}
      volumeMounts:
        - { name: config, mountPath: /etc/slipway/config, readOnly: true }
        - { name: trusted, mountPath: /etc/slipway/trusted, readOnly: true }
        - { name: admin, mountPath: /etc/slipway/admin, readOnly: true }
        - { name: snapshot, mountPath: /var/lib/slipway/snapshot, readOnly: true }
        - { name: state, mountPath: /var/lib/slipway/state }
        - { name: pair, mountPath: /var/lib/slipway/pair, readOnly: true }
        {{- with .Values.server.extraVolumeMounts }}{{ toYaml . | nindent 8 }}{{ end }}
  volumes:
    - name: config
      configMap: { name: {{ include "slipway.fullname" . }}, defaultMode: 0444 }
    # Only the daemon container has the private key, only the server container the public key.
    - name: signing
      secret:
        secretName: {{ include "slipway.signingSecret" . }}
        defaultMode: 0440
        items:
          {{- range .Values.signing.privateKeys }}
          - { key: {{ . }}, path: {{ . }} }
          {{- end }}
    - name: trusted
      secret:
        secretName: {{ include "slipway.signingSecret" . }}
        defaultMode: 0440
        items:
          {{- range .Values.signing.publicKeys }}
          - { key: {{ . }}, path: {{ . }} }
          {{- end }}
    - name: admin
      secret:
        secretName: {{ include "slipway.adminSecret" . }}
        defaultMode: 0440
        items:
          {{- range .Values.admin.tokenKeys }}
          - { key: {{ . }}, path: {{ . }} }
          {{- end }}
    - name: tmp
      emptyDir: { sizeLimit: 128Mi }
    # The token of the daemon's API: the daemon creates it, the server reads it, nothing else can.
    - name: pair
      emptyDir: { medium: Memory, sizeLimit: 1Mi }
    # Position of the scrub: it survives a container restart; a new pod starts at a random position.
    - name: state
      emptyDir: { sizeLimit: 8Mi }
    {{- if not (include "slipway.isStatefulSet" .) }}
    - {{- include "slipway.volume" (dict "root" . "part" "snapshot" "volume" .Values.storage.snapshot) | nindent 6 }}
    - {{- include "slipway.volume" (dict "root" . "part" "data" "volume" .Values.storage.data) | nindent 6 }}
    {{- end }}
    {{- with .Values.localization }}
    {{- if .enabled }}
    - {{- include "slipway.volume" (dict "root" $ "part" "exchange" "volume" .exchange) | nindent 6 }}
    {{- if or .files .existingConfigMap }}
    - name: localization
      configMap: { name: {{ include "slipway.localizationFiles" $ }}, defaultMode: 0444 }
    {{- end }}
    {{- with .secrets }}
    - name: secrets
      projected:
        defaultMode: 0440
        sources:
          {{- range . }}
          - secret: { name: {{ .secret }}, items: [{ key: {{ .key }}, path: {{ .file }} }] }
          {{- end }}
    {{- end }}
    {{- end }}
    {{- end }}
    {{- with .Origin }}
    # What an edge may know of its origin: the public keys, and a token where the origin wants one.
    - name: origin
      projected:
        defaultMode: 0440
        sources:
          - secret:
              name: {{ .signingSecret }}
              items:
                {{- range .publicKeys }}
                - { key: {{ . }}, path: {{ . }} }
                {{- end }}
          {{- with .token }}
          - secret: { name: {{ .secret }}, items: [{ key: {{ .key }}, path: token/value }] }
          {{- end }}
    {{- end }}
    {{- with .Values.extraVolumes }}{{ toYaml . | nindent 4 }}{{ end }}
{{- end -}}
