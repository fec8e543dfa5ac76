{{/* Beginning of the names of all objects. */}}
{{- define "slipway.fullname" -}}
{{- include "slipway.checkSections" . -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 50 | trimSuffix "-" -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/*
Labels of an object. Call with a dict of root and, for parts, component, and for more labels, more. Later ones win, and those of
selectors always do.
*/}}
{{- define "slipway.labels" -}}
{{- $labels := dict
  "helm.sh/chart" (printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_")
  "app.kubernetes.io/version" .root.Chart.AppVersion
  "app.kubernetes.io/managed-by" .root.Release.Service
  "app.kubernetes.io/part-of" "slipway"
-}}
{{- $selector := include "slipway.selectorLabels" . | fromYaml -}}
{{- toYaml (mergeOverwrite $labels .root.Values.commonLabels (default dict .more) $selector) -}}
{{- end -}}

{{/*
Annotations of an object with their key, or nothing. Call with a dict of root and, for those of its own, more, which win.
*/}}
{{- define "slipway.annotations" -}}
{{- with mergeOverwrite (deepCopy .root.Values.commonAnnotations) (default dict .more) -}}
annotations: {{- toYaml . | nindent 2 }}
{{- end -}}
{{- end -}}

{{/* Labels that selectors use; they never change. */}}
{{- define "slipway.selectorLabels" -}}
app.kubernetes.io/name: {{ default .root.Chart.Name .root.Values.nameOverride }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ default (default "server" .root.Component) .component }}
{{- end -}}

{{- define "slipway.image" -}}
{{- with default .Values.image.registry .Values.global.imageRegistry }}{{ . }}/{{ end -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{ .repository }}@{{ .digest }}
{{- else -}}
{{ .repository }}:{{ default $.Chart.AppVersion .tag }}
{{- end -}}
{{- end -}}
{{- end -}}

{{/*
Security contexts of a pod and of a container. A platform that chooses users refuses pods that name one. null in values cannot say that in
a parent chart: Helm 3 drops it.
*/}}
{{- define "slipway.podSecurityContext" -}}
{{- toYaml (eq (default "" .Values.platform) "openshift" | ternary (omit .Values.podSecurityContext "runAsUser" "runAsGroup" "fsGroup") .Values.podSecurityContext) -}}
{{- end -}}
{{- define "slipway.securityContext" -}}
{{- toYaml (eq (default "" .Values.platform) "openshift" | ternary (omit .Values.securityContext "runAsUser" "runAsGroup") .Values.securityContext) -}}
{{- end -}}

{{/* imagePullSecrets of a pod: a name alone is allowed, as in other charts. */}}
{{- define "slipway.pullSecrets" -}}
{{- $secrets := list -}}
{{- range concat .Values.image.pullSecrets .Values.global.imagePullSecrets -}}
{{- $secrets = append $secrets (kindIs "string" . | ternary (dict "name" .) .) -}}
{{- end -}}
{{- with $secrets -}}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end -}}
{{- end -}}

{{/* Where the pods of a Deployment run. Call with their values. */}}
{{- define "slipway.placement" -}}
{{- with .priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .topologySpreadConstraints }}
topologySpreadConstraints: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* Name of the ServiceAccount. Call with a dict of values and default. */}}
{{- define "slipway.serviceAccountName" -}}
{{- default (.values.create | ternary .default "default") .values.name -}}
{{- end -}}

{{- define "slipway.operatorAccount" -}}
{{- include "slipway.serviceAccountName" (dict "values" .Values.operator.serviceAccount "default" (printf "%s-operator" (include "slipway.fullname" .))) -}}
{{- end -}}

{{/* Peers of egress rules: every address except those of networkPolicy.egressExcept. */}}
{{- define "slipway.allowedNetworks" -}}
{{- range $cidr, $isExcept := dict "0.0.0.0/0" "[.]" "::/0" ":" }}
- ipBlock:
    cidr: {{ $cidr | quote }}
    {{- $except := list }}
    {{- range $.Values.networkPolicy.egressExcept }}
    {{- if regexMatch $isExcept . }}
    {{- $except = append $except . }}
    {{- end }}
    {{- end }}
    {{- with $except }}
    except: {{- toYaml . | nindent 6 }}
    {{- end }}
{{- end }}
{{- end -}}

{{/*
Merges a patch into an object in place: maps recursively, containers and volumes by name; null removes, anything else replaces.
mergeOverwrite would leave out false, 0 and "". Call with a dict of base and patch.
*/}}
{{- define "slipway.patch" -}}
{{- $base := .base -}}
{{- range $key, $value := .patch -}}
{{- $old := get $base $key -}}
{{- if kindIs "invalid" $value -}}
{{- $_ := unset $base $key -}}
{{- else if and (kindIs "map" $value) (kindIs "map" $old) -}}
{{- include "slipway.patch" (dict "base" $old "patch" $value) -}}
{{- else if and (kindIs "slice" $value) (kindIs "slice" $old) (has $key (list "containers" "initContainers" "volumes")) -}}
{{- $merged := $old -}}
{{- range $item := $value -}}
{{- $known := false -}}
{{- range $existing := $old -}}
{{- if eq (get $existing "name") (get $item "name") -}}
{{- $known = true -}}
{{- include "slipway.patch" (dict "base" $existing "patch" $item) -}}
{{- end -}}
{{- end -}}
{{- if not $known }}{{ $merged = append $merged $item }}{{ end -}}
{{- end -}}
{{- $_ := set $base $key $merged -}}
{{- else -}}
{{- $_ := set $base $key $value -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* A Deployment or StatefulSet with the pod template of the user merged in. Call with a dict of text and template. */}}
{{- define "slipway.withTemplate" -}}
{{- $workload := fromYaml .text -}}
{{- with $workload.Error }}{{ fail . }}{{ end -}}
{{- include "slipway.patch" (dict "base" $workload.spec.template "patch" .template) -}}
{{- toYaml $workload -}}
{{- end -}}

{{- define "slipway.signingSecret" -}}
{{- default (printf "%s-signing" (include "slipway.fullname" .)) .Values.signing.existingSecret -}}
{{- end -}}

{{- define "slipway.adminSecret" -}}
{{- default (printf "%s-admin" (include "slipway.fullname" .)) .Values.admin.existingSecret -}}
{{- end -}}

{{- define "slipway.localizationFiles" -}}
{{- default (printf "%s-localization" (include "slipway.fullname" .)) .Values.localization.existingConfigMap -}}
{{- end -}}

{{/* Whether there can be more than one pod: "true" or nothing. */}}
{{- define "slipway.severalPods" -}}
{{- if or .Values.autoscaling.enabled (gt (int .Values.replicas) 1) -}}true{{- end -}}
{{- end -}}

{{/* Whether each pod has claims of its own that outlive it: "true" or nothing. Only edges do. */}}
{{- define "slipway.isStatefulSet" -}}
{{- if and (eq (default "" .Component) "edge") (eq .Values.storage.kind "claim") -}}true{{- end -}}
{{- end -}}

{{/* Whether the pods of an upgrade share the claims for a while: "true" or nothing. */}}
{{- define "slipway.overlaps" -}}
{{- $modes := list -}}
{{- range include "slipway.claims" . | fromJson -}}{{- $modes = concat $modes .accessModes -}}{{- end -}}
{{- if and (eq .Values.storage.kind "claim") .Values.storage.overlap (not (has "ReadWriteOncePod" $modes)) -}}true{{- end -}}
{{- end -}}

{{/* Whether pods that share the claims need the same node, as some claim can be used on one node at a time: "true" or nothing. */}}
{{- define "slipway.needsOneNode" -}}
{{- $tied := false -}}
{{- range include "slipway.claims" . | fromJson -}}{{- if not (has "ReadWriteMany" .accessModes) }}{{ $tied = true }}{{ end -}}{{- end -}}
{{- if and $tied (include "slipway.overlaps" .) -}}true{{- end -}}
{{- end -}}

{{/*
Affinity of the pods of server and daemon. A claim that is ReadWriteOnce can be used on one node at a time: a second pod elsewhere would
wait for a first one that waits for it. On claims that are all ReadWriteMany, the same node is only preferred, so that a pod can replace
one on a lost node. The first pod of all may run anywhere.
*/}}
{{- define "slipway.affinity" -}}
{{- $own := dict "topologyKey" "kubernetes.io/hostname" "labelSelector" (dict "matchLabels" (include "slipway.selectorLabels" (dict "root" .) | fromYaml)) -}}
{{- $affinity := deepCopy (default dict .Values.pod.affinity) -}}
{{- if include "slipway.overlaps" . -}}
{{- $near := default dict $affinity.podAffinity -}}
{{- $key := "preferredDuringSchedulingIgnoredDuringExecution" -}}
{{- $term := dict "weight" 100 "podAffinityTerm" $own -}}
{{- if include "slipway.needsOneNode" . -}}
{{- $key = "requiredDuringSchedulingIgnoredDuringExecution" -}}
{{- $term = $own -}}
{{- end -}}
{{- $_ := set $near $key (append (default list (get $near $key)) $term) -}}
{{- toYaml (set $affinity "podAffinity" $near) -}}
{{- else if $affinity -}}
{{- toYaml $affinity -}}
{{- else -}}
podAntiAffinity:
  preferredDuringSchedulingIgnoredDuringExecution:
    - weight: 100
      podAffinityTerm: {{- toYaml $own | nindent 8 }}
{{- end -}}
{{- end -}}

{{/* Whether a label selector selects labels: "true" or nothing. Call with a dict of selector and labels. null selects nothing. */}}
{{- define "slipway.selects" -}}
{{- $labels := .labels -}}
{{- $selects := kindIs "map" .selector -}}
{{- $selector := default dict .selector -}}
{{- range $key, $value := default dict $selector.matchLabels -}}
{{- if not (and (hasKey $labels $key) (eq (toString $value) (toString (get $labels $key)))) }}{{ $selects = false }}{{ end -}}
{{- end -}}
{{- range default list $selector.matchExpressions -}}
{{- $exists := hasKey $labels .key -}}
{{- $isIn := and $exists (has (get $labels .key) (default list .values)) -}}
{{- if not (get (dict "In" $isIn "NotIn" (not $isIn) "Exists" $exists "DoesNotExist" (not $exists)) .operator) }}{{ $selects = false }}{{ end -}}
{{- end -}}
{{- if $selects -}}true{{- end -}}
{{- end -}}

{{/*
Whether an affinity term or a spread constraint is about the pod of the version before, which has the same labels: "true" or nothing.
Call with a dict of term, labels and namespace.
*/}}
{{- define "slipway.isAboutOwnPods" -}}
{{- $names := default list .term.namespaces -}}
{{- $isNear := or (has .namespace $names) (and (not $names) (not (kindIs "map" .term.namespaceSelector))) -}}
{{- if include "slipway.selects" (dict "selector" .term.namespaceSelector "labels" (dict "kubernetes.io/metadata.name" .namespace)) }}{{ $isNear = true }}{{ end -}}
{{- /* This key tells the pods of two versions apart; a key that must differ excludes pods with the same labels. */ -}}
{{- $isOther := or (has "pod-template-hash" (default list .term.matchLabelKeys)) .term.mismatchLabelKeys -}}
{{- if and $isNear (not $isOther) -}}{{- include "slipway.selects" (dict "selector" .term.labelSelector "labels" .labels) -}}{{- end -}}
{{- end -}}

{{/* Rejects pods that cannot be beside each other on one node although they share claims. Call with a dict of root and template, that of the pods. */}}
{{- define "slipway.checkOverlap" -}}
{{- if include "slipway.needsOneNode" .root -}}
{{- $spec := .template.spec -}}
{{- $own := dict "labels" .template.metadata.labels "namespace" .root.Release.Namespace -}}
{{- $obstacle := "" -}}
{{- $apart := default dict (default dict $spec.affinity).podAntiAffinity -}}
{{- range default list $apart.requiredDuringSchedulingIgnoredDuringExecution -}}
{{- if include "slipway.isAboutOwnPods" (merge (dict "term" .) $own) }}{{ $obstacle = "the required podAntiAffinity to its own labels" }}{{ end -}}
{{- end -}}
{{- range default list $spec.topologySpreadConstraints -}}
{{- if and (eq .whenUnsatisfiable "DoNotSchedule") (le (int .maxSkew) 1) (include "slipway.isAboutOwnPods" (merge (dict "term" .) $own)) }}{{ $obstacle = "the topologySpreadConstraint with DoNotSchedule and maxSkew 1" }}{{ end -}}
{{- end -}}
{{- range concat $spec.containers (default list $spec.initContainers) -}}
{{- range default list .ports -}}{{- if .hostPort }}{{ $obstacle = "a hostPort" }}{{ end -}}{{- end -}}
{{- end -}}
{{- if $spec.hostNetwork }}{{ $obstacle = "hostNetwork" }}{{ end -}}
{{- if $obstacle -}}
{{- fail (printf "the pods of an upgrade share claims, so both must be on one node, but %s of the pod forbids it: the new pod would stay Pending. Set storage.overlap to false, so that the old pod stops first, or remove that from pod" $obstacle) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Host names of a route as a JSON list. Call with a dict of root and hosts. */}}
{{- define "slipway.hosts" -}}
{{- if .hosts -}}
{{- toJson .hosts -}}
{{- else -}}
{{- toJson (list (include "slipway.publicHost" .root)) -}}
{{- end -}}
{{- end -}}

{{/* Name of the Service that a route leads clients to. Call with a dict of root and backend. */}}
{{- define "slipway.backend" -}}
{{- include (eq .backend "edge" | ternary "slipway.edgeName" "slipway.fullname") .root -}}
{{- end -}}

{{/* Host of publicBaseUrl, without its port. */}}
{{- define "slipway.publicHost" -}}
{{- regexReplaceAll ":[0-9]+$" (urlParse .Values.publicBaseUrl).host "" -}}
{{- end -}}

{{/* First segment of every resource path. */}}
{{- define "slipway.cdnHost" -}}
{{- dig "cdn" "host" "prod-clientpatch.bluearchiveyostar.com" .Values.server.config -}}
{{- end -}}

{{/* Paths that are reachable from outside, as JSON lists: prefixes and exact paths. Call with a dict of root and admin. */}}
{{- define "slipway.prefixPaths" -}}
{{- toJson (list (printf "/%s" (include "slipway.cdnHost" .)) "/v1" "/api/launcher") -}}
{{- end -}}
{{- define "slipway.exactPaths" -}}
{{- toJson (list "/openapi.yaml" "/healthz" "/readyz") -}}
{{- end -}}

{{/*
server.yaml: the settings of the user, overridden by those that only the chart can know. The store has its own folder on its volume,
because a new file system has a lost+found in its root. Problems link to the runbooks of the alerts, unless the settings of the user
say otherwise.
*/}}
{{- define "slipway.serverConfig" -}}
{{- $tokens := list -}}
{{- range .Values.admin.tokenKeys -}}{{- $tokens = append $tokens (printf "/etc/slipway/admin/%s" .) -}}{{- end -}}
{{- $keys := list -}}
{{- range .Values.signing.publicKeys -}}{{- $keys = append $keys (printf "/etc/slipway/trusted/%s" .) -}}{{- end -}}
{{- $own := dict
  "metrics" (dict "port" 9090)
  "publicBaseUrl" .Values.publicBaseUrl
  "snapshot" (dict "root" "/var/lib/slipway/snapshot/store")
  "daemon" (dict "url" "http://127.0.0.1:8091" "tokenFile" "/var/lib/slipway/pair/api.token")
  "attestation" (dict "publicKeyFiles" $keys)
  "admin" (dict "tokenFiles" $tokens "exposeControl" .Values.admin.exposeControl)
  "scrub" (dict "stateFile" "/var/lib/slipway/state/scrub.json")
-}}
{{- with .Values.prometheusRule.runbookUrl -}}
{{- $own = set $own "runbooks" (dict "url" (dig "runbooks" "url" . $.Values.server.config)) -}}
{{- end -}}
{{- toYaml (mergeOverwrite (deepCopy .Values.server.config) $own) -}}
{{- end -}}

{{/*
Where the alerts and the board find the runbooks: the servers have them, below the public address if the admin surface is there. A copy
elsewhere has files, whose names end with .md.
*/}}
{{- define "slipway.runbooks" -}}
{{- if .Values.prometheusRule.runbookUrl -}}
{{- trimSuffix "/" .Values.prometheusRule.runbookUrl -}}
{{- else if or (and .Values.ingress.enabled .Values.ingress.admin) (and .Values.httpRoute.enabled .Values.httpRoute.admin) -}}
{{- trimSuffix "/" .Values.publicBaseUrl }}/admin/dashboard/runbooks
{{- else -}}
http://{{ include "slipway.fullname" . }}-admin.{{ .Release.Namespace }}.svc/admin/dashboard/runbooks
{{- end -}}
{{- end -}}

{{/*
daemon.yaml, likewise. Exchanged files are in the root of their volume, which exists before anything
is written; backups are in a folder of it. Without localization nobody uses the
index of texts, so the daemon does not build it, unless the settings of the user say so. An origin with edges
announces its releases, unless the settings of the user say when.
*/}}
{{- define "slipway.daemonConfig" -}}
{{- $defaults := dict "parse" (dict "automatic" false) "translation" (dict "automatic" false) -}}
{{- $exchange := dict -}}
{{- if .Values.localization.enabled -}}
{{- $defaults = dict "backup" (dict "folder" "/var/lib/slipway/exchange/backups") -}}
{{- $exchange = dict "exchange" (dict "root" "/var/lib/slipway/exchange") -}}
{{- end -}}
{{- if and .Values.edge.enabled (not .Origin) (not (hasKey (default dict .Values.daemon.config.releases) "announceSeconds")) -}}
{{- $_ := set $defaults "releases" (dict "announceSeconds" 300) -}}
{{- end -}}
{{- $keys := list -}}
{{- range .Values.signing.privateKeys -}}{{- $keys = append $keys (printf "/etc/slipway/signing/%s" .) -}}{{- end -}}
{{- $own := dict
  "listen" (dict "host" "127.0.0.1" "port" 8091)
  "metrics" (dict "port" 9091)
  "tokenFile" "/var/lib/slipway/pair/api.token"
  "requireToken" true
  "snapshot" (dict "root" "/var/lib/slipway/snapshot/store")
  "data" (dict "dir" "/var/lib/slipway/data/databases")
  "attestation" (dict "signingKeyFiles" $keys)
  "supervised" true
-}}
{{- toYaml (mergeOverwrite $defaults (deepCopy .Values.daemon.config) $exchange $own) -}}
{{- end -}}

{{/* operator.yaml, likewise. */}}
{{- define "slipway.operatorConfig" -}}
{{- $namespaces := default (list .Release.Namespace) .Values.operator.namespaces -}}
{{- $own := dict
  "watch" (dict "namespaces" (has "*" $namespaces | ternary list $namespaces))
  "election" (dict "namespace" .Release.Namespace "name" (printf "%s-operator" (include "slipway.fullname" .)))
  "probes" (dict "port" 8081)
  "metrics" (dict "port" 9090)
-}}
{{- toYaml (mergeOverwrite (deepCopy .Values.operator.config) $own) -}}
{{- end -}}

{{/* The other owner of the CRD: empty if there is none or it is this release. */}}
{{- define "slipway.crdOwner" -}}
{{- with lookup "apiextensions.k8s.io/v1" "CustomResourceDefinition" "" "releasechannels.slipway.dev" -}}
{{- $name := dig "metadata" "annotations" "meta.helm.sh/release-name" "" . -}}
{{- $namespace := dig "metadata" "annotations" "meta.helm.sh/release-namespace" "" . -}}
{{- if not $name -}}
another installer than Helm
{{- else if or (ne $name $.Release.Name) (ne $namespace $.Release.Namespace) -}}
release {{ $name }} in namespace {{ $namespace }}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Seconds until the pod may be killed: the server stops first, then the daemon, each within its own deadline. */}}
{{- define "slipway.gracePeriod" -}}
{{- $delay := dig "shutdown" "propagationDelaySeconds" 5 .Values.server.config -}}
{{- $drain := dig "shutdown" "drainSeconds" 30 .Values.server.config -}}
{{- add (ceil $delay) (ceil $drain) 10 35 10 -}}
{{- end -}}

{{/* Rejects the values of an older version, which lack what this one added. A test compares the list with the values. */}}
{{- define "slipway.checkSections" -}}
{{- range $name := list "commonAnnotations" "image" "server" "daemon" "storage" "localization" "secrets" "signing" "admin" "service" "ingress" "httpRoute" "autoscaling" "podDisruptionBudget" "edge" "networkPolicy" "serviceMonitor" "podMonitor" "prometheusRule" "grafanaDashboard" "operator" "crds" "pod" "podSecurityContext" "securityContext" "serviceAccount" "test" -}}
{{- if not (kindIs "map" (get $.Values $name)) -}}
{{- fail (printf "the values have no %s: they are those of an older version of this chart, as helm upgrade --reuse-values leaves them. Use helm upgrade --reset-then-reuse-values" $name) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/*
Rejects a new key or token where nothing can find it again: without a cluster, each run would make another one. The probe lists a kind
with few and small objects, and only when a Secret is missing. Call with a dict of root and names.
*/}}
{{- define "slipway.mayGenerate" -}}
{{- $root := .root -}}
{{- $missing := list -}}
{{- range .names }}{{ if not (lookup "v1" "Secret" $root.Release.Namespace .) }}{{ $missing = append $missing . }}{{ end }}{{ end -}}
{{- with $root -}}
{{- if and $missing (not .Values.secrets.generate) (not (lookup "v1" "ServiceAccount" .Release.Namespace "")) -}}
{{- fail (printf "the chart is rendered without a cluster (helm template, Argo CD, --dry-run=client), and would make another key and token at each run. Make them once:\n  bin/slipway keygen --out keys && kubectl -n %s create secret generic slipway-signing --from-file=keys/signing.key --from-file=keys/signing.pub\n  kubectl -n %s create secret generic slipway-admin --from-literal=token=\"$(openssl rand -hex 24)\"\nand set signing.existingSecret=slipway-signing and admin.existingSecret=slipway-admin (for edges the same below edge, with Secrets of their own). To only look at the objects, use --dry-run=server --hide-secret, or set secrets.generate=true" .Release.Namespace .Release.Namespace) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Rejects contradictory values and says what to do instead. */}}
{{- define "slipway.checkValues" -}}
{{- $v := .Values -}}
{{- if and $v.serviceMonitor.enabled $v.podMonitor.enabled -}}
{{- fail "serviceMonitor.enabled and podMonitor.enabled are both set: every series would exist twice. Leave one of them" -}}
{{- end -}}
{{- range $name, $config := dict "server.config" $v.server.config "edge.server.config" $v.edge.server.config -}}
{{- $listen := default dict $config.listen -}}
{{- if and (hasKey $listen "port") (has (int $listen.port) (list 0 8091 9090 9091)) -}}
{{- fail (printf "%s.listen.port is %d: a Service cannot target port 0, and 8091, 9090 and 9091 are taken in the pod. Choose another one, or leave it out" $name (int $listen.port)) -}}
{{- end -}}
{{- if regexMatch "^(127\\.|localhost$|\\[?::1\\]?$)" (default "" $listen.host) -}}
{{- fail (printf "%s.listen.host is %s: only the pod itself could connect, and no client, probe or operator. Set it to 0.0.0.0 or ::, or leave it out" $name $listen.host) -}}
{{- end -}}
{{- end -}}
{{- if not $v.publicBaseUrl -}}
{{- fail "publicBaseUrl is missing: set the scheme and host that clients use, such as --set publicBaseUrl=https://resources.example.org" -}}
{{- end -}}
{{- $texts := or $v.localization.enabled (hasKey $v.daemon.config "localized") (dig "translation" "providers" dict $v.daemon.config) -}}
{{- if and $texts (include "slipway.severalPods" .) -}}
{{- fail "localization with several pods: each pod has its own daemon, so each would have its own translations and pay the providers again. Set replicas to 1 and autoscaling.enabled to false, or set localization.enabled to false and remove daemon.config.localized and daemon.config.translation.providers" -}}
{{- end -}}
{{- if and (eq $v.storage.kind "claim") (include "slipway.severalPods" .) -}}
{{- fail "several pods cannot share one volume: each pod has a daemon, and a volume has one writer. Set storage.kind to ephemeral or emptyDir, or replicas to 1 and autoscaling.enabled to false" -}}
{{- end -}}
{{- range $part := list "snapshot" "data" -}}
{{- if and (ne $v.storage.kind "claim") (index $v.storage $part).existingClaim -}}
{{- fail (printf "storage.%s.existingClaim is set, but storage.kind is %s: set storage.kind to claim, or remove the claim's name" $part $v.storage.kind) -}}
{{- end -}}
{{- end -}}
{{- if and $v.storage.snapshot.existingClaim (eq $v.storage.snapshot.existingClaim $v.storage.data.existingClaim) -}}
{{- fail "storage.snapshot.existingClaim and storage.data.existingClaim are the same: databases do not belong on the volume that the server reads. Use two claims" -}}
{{- end -}}
{{- if and $v.admin.exposeControl (include "slipway.severalPods" .) -}}
{{- fail "admin.exposeControl with several pods: each pod has its own daemon, and a control call would reach a random one. Set it to false, or replicas to 1" -}}
{{- end -}}
{{- with $v.localization -}}
{{- if and $texts (not .enabled) -}}
{{- fail "daemon.config.localized or daemon.config.translation.providers is set, but localization.enabled is false: the daemon would index no text. Set localization.enabled to true" -}}
{{- end -}}
{{- if and .enabled (ne $v.storage.kind "claim") -}}
{{- fail (printf "localization.enabled needs storage.kind=claim: translations are the work of people, and volumes of kind %s are deleted with the pod" $v.storage.kind) -}}
{{- end -}}
{{- if and .files .existingConfigMap -}}
{{- fail "localization.files and localization.existingConfigMap are both set: put all files into the ConfigMap, and leave localization.files empty" -}}
{{- end -}}
{{- range $file := keys .files -}}
{{- if not (regexMatch "^[a-zA-Z0-9][-._a-zA-Z0-9]{0,252}$" $file) -}}
{{- fail (printf "localization.files has the name %q: use letters, digits, -, _ and . only, because a ConfigMap has no folders" $file) -}}
{{- end -}}
{{- end -}}
{{- $files := list -}}
{{- range .secrets -}}
{{- if has .file $files -}}
{{- fail (printf "localization.secrets has the file %s twice: give each its own name" .file) -}}
{{- end -}}
{{- $files = append $files .file -}}
{{- end -}}
{{- range $other := list "snapshot" "data" -}}
{{- $claim := (index $v.storage $other).existingClaim -}}
{{- if and $claim (eq $claim $v.localization.exchange.existingClaim) -}}
{{- fail (printf "localization.exchange.existingClaim and storage.%s.existingClaim are the same: people reach the exchange volume, and must not reach that one. Use two claims" $other) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if and (has "*" $v.operator.namespaces) (gt (len $v.operator.namespaces) 1) -}}
{{- fail "operator.namespaces has * and other names: leave one or the other" -}}
{{- end -}}
{{- if and $v.operator.enabled (not $v.admin.exposeControl) (not (include "slipway.severalPods" .)) -}}
{{- fail "operator.enabled needs admin.exposeControl=true: the operator works through the control actions" -}}
{{- end -}}
{{- if and $v.autoscaling.enabled (gt (int $v.autoscaling.minReplicas) (int $v.autoscaling.maxReplicas)) -}}
{{- fail "autoscaling.minReplicas is greater than autoscaling.maxReplicas: raise maxReplicas" -}}
{{- end -}}
{{- if and $v.autoscaling.enabled (gt (int $v.replicas) 1) -}}
{{- fail "replicas and autoscaling.enabled are both set: autoscaling decides on the number of pods. Leave replicas at 1, and set autoscaling.minReplicas" -}}
{{- end -}}
{{- if and $v.httpRoute.enabled (not $v.httpRoute.parentRefs) -}}
{{- fail "httpRoute.enabled needs httpRoute.parentRefs: name the Gateway, such as --set httpRoute.parentRefs[0].name=public" -}}
{{- end -}}
{{- include "slipway.checkEdges" . -}}
{{- $host := include "slipway.publicHost" . -}}
{{- range $route := list (dict "name" "ingress.hosts" "on" $v.ingress.enabled "hosts" $v.ingress.hosts) (dict "name" "httpRoute.hostnames" "on" $v.httpRoute.enabled "hosts" $v.httpRoute.hostnames) -}}
{{- if and $route.on $route.hosts (not (has $host $route.hosts)) -}}
{{- fail (printf "%s does not have %s, the host of publicBaseUrl that clients use. Add it, or leave the list empty" $route.name $host) -}}
{{- end -}}
{{- end -}}
{{- if and $v.ingress.enabled $v.ingress.tlsSecret (hasPrefix "http://" $v.publicBaseUrl) -}}
{{- fail "ingress.tlsSecret is set, but publicBaseUrl begins with http://: clients would use the unencrypted port. Begin publicBaseUrl with https://" -}}
{{- end -}}
{{- end -}}

{{/* The settings that all endpoints of a monitor share. Call with its values. */}}
{{- define "slipway.scrape" -}}
interval: {{ .interval }}
scrapeTimeout: {{ .scrapeTimeout }}
# The operator names the namespace of each ReleaseChannel.
honorLabels: true
{{- with .relabelings }}
relabelings: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .metricRelabelings }}
metricRelabelings: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* spec of a PersistentVolumeClaim. Call with the values of the volume. */}}
{{- define "slipway.claimSpec" -}}
accessModes: {{- toYaml (default (list "ReadWriteOnce") .accessModes) | nindent 2 }}
{{- with .storageClass }}
storageClassName: {{ . | quote }}
{{- end }}
{{- with .dataSource }}
dataSource: {{- toYaml . | nindent 2 }}
{{- end }}
resources:
  requests:
    storage: {{ .size }}
{{- end -}}

{{/* The values of the claims that the chart makes for all pods together, by name, as JSON. */}}
{{- define "slipway.claims" -}}
{{- $claims := dict -}}
{{- if and (eq .Values.storage.kind "claim") (not (include "slipway.isStatefulSet" .)) -}}
{{- $claims = dict "snapshot" .Values.storage.snapshot "data" .Values.storage.data -}}
{{- end -}}
{{- if .Values.localization.enabled -}}
{{- $_ := set $claims "exchange" .Values.localization.exchange -}}
{{- end -}}
{{- toJson $claims -}}
{{- end -}}

{{/* Port of the public listener. */}}
{{- define "slipway.httpPort" -}}
{{- dig "listen" "port" 8080 .Values.server.config | int -}}
{{- end -}}

{{/* Ports of the servers that an operator may ask, as a JSON list: the usual one, and those of this release. */}}
{{- define "slipway.serverPorts" -}}
{{- $own := include "slipway.httpPort" . | int -}}
{{- include "slipway.portList" (list 8080 $own (dig "listen" "port" $own .Values.edge.server.config)) -}}
{{- end -}}

{{/* Ports as a JSON list without those that are there twice. */}}
{{- define "slipway.portList" -}}
{{- $ports := list -}}
{{- range . }}{{ $ports = append $ports (int .) }}{{ end -}}
{{- toJson (uniq $ports) -}}
{{- end -}}

{{/* Ports of URLs as a JSON list. An empty text is none. */}}
{{- define "slipway.portsOfUrls" -}}
{{- $ports := list -}}
{{- range . -}}
{{- if . -}}
{{- $port := hasPrefix "https:" . | ternary "443" "80" -}}
{{- with regexFind ":[0-9]+$" (urlParse .).host -}}{{- $port = trimPrefix ":" . -}}{{- end -}}
{{- $ports = append $ports $port -}}
{{- end -}}
{{- end -}}
{{- include "slipway.portList" $ports -}}
{{- end -}}

{{/* Ports of upstream, of the token service of a registry, and of the proxy to them, as a JSON list. */}}
{{- define "slipway.upstreamPorts" -}}
{{- $urls := list -}}
{{- range $section := default dict .Values.daemon.config.upstream -}}
{{- if kindIs "map" $section }}{{ $urls = append $urls $section.url }}{{ $urls = append $urls $section.tokenService }}{{ end -}}
{{- end -}}
{{- range .Values.daemon.env -}}
{{- if regexMatch "^(?i:https?_proxy)$" .name }}{{ $urls = append $urls .value }}{{ end -}}
{{- end -}}
{{- include "slipway.portsOfUrls" $urls -}}
{{- end -}}

{{/* Ports of the providers of translations as a JSON list. Without a URL, a provider is on the port of https, on loopback, or nowhere. */}}
{{- define "slipway.providerPorts" -}}
{{- $urls := list -}}
{{- range dig "translation" "providers" dict .Values.daemon.config -}}
{{- $isLocal := or (eq (default "" .kind) "memory-only") (has (default "" .preset) (list "vllm" "llamacpp" "ollama")) -}}
{{- $urls = append $urls (default ($isLocal | ternary "" "https://preset") .url) -}}
{{- end -}}
{{- include "slipway.portsOfUrls" $urls -}}
{{- end -}}

{{/* The egress rule for DNS. It names no peer: a cache of names on the node has a link-local address. */}}
{{- define "slipway.dnsRule" -}}
- ports:
    {{- range .Values.networkPolicy.dnsPorts }}
    - { port: {{ . }}, protocol: UDP }
    - { port: {{ . }}, protocol: TCP }
    {{- end }}
{{- end -}}

{{/* Timeouts of a rule of an HTTPRoute, or nothing. */}}
{{- define "slipway.routeTimeouts" -}}
{{- $timeouts := dict -}}
{{- range $name, $value := .Values.httpRoute.timeouts }}{{ if $value }}{{ $_ := set $timeouts $name $value }}{{ end }}{{ end -}}
{{- with $timeouts -}}
timeouts: {{- toYaml . | nindent 2 }}
{{- end -}}
{{- end -}}

{{/* A volume of the pod. Call with a dict of root, part and volume, its values. */}}
{{- define "slipway.volume" -}}
{{- $volume := .volume -}}
name: {{ .part }}
{{- if eq .root.Values.storage.kind "claim" }}
persistentVolumeClaim:
  claimName: {{ default (printf "%s-%s" (include "slipway.fullname" .root) .part) $volume.existingClaim }}
{{- else if eq .root.Values.storage.kind "ephemeral" }}
ephemeral:
  volumeClaimTemplate:
    metadata:
      labels: {{- include "slipway.selectorLabels" (dict "root" .root) | nindent 8 }}
      {{- with $volume.annotations }}
      annotations: {{- toYaml . | nindent 8 }}
      {{- end }}
    spec: {{- include "slipway.claimSpec" $volume | nindent 6 }}
{{- else }}
emptyDir:
  sizeLimit: {{ $volume.size }}
{{- end }}
{{- end -}}
