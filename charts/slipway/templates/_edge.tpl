{{/*
Renders a template for the origin and, where edges are enabled, for the edges, which are the same objects with the values below edge.
Call with a dict of root and template, a name.
*/}}
{{- define "slipway.each" -}}
{{- include .template .root -}}
{{- if .root.Values.edge.enabled }}
---
{{ $edge := dict -}}
{{- include "slipway.becomeEdge" (dict "root" .root "edge" $edge) -}}
{{- include .template $edge -}}
{{- end -}}
{{- end -}}

{{/* Beginning of the names of the objects of edges. It differs from that of the origin also where a long name is cut off. */}}
{{- define "slipway.edgeName" -}}
{{- include "slipway.fullname" . | trunc 45 | trimSuffix "-" -}}-edge
{{- end -}}

{{/*
Turns an empty dict into the root of the edges: the values below edge take the place of those of the origin, and Origin is what
edges know of it. Call with a dict of root and edge.
*/}}
{{- define "slipway.becomeEdge" -}}
{{- $root := .root -}}
{{- $own := $root.Values.edge -}}
{{- $values := dict -}}
{{- range $key, $value := $root.Values }}{{ $_ := set $values $key $value }}{{ end -}}
{{- range $key := list "replicas" "extraVolumes" "signing" "service" "autoscaling" "podDisruptionBudget" -}}
{{- $_ := set $values $key (get $own $key) -}}
{{- end -}}
{{- $_ := set $values "fullnameOverride" (include "slipway.edgeName" $root) -}}
{{- $_ := set $values "admin" (set (deepCopy $own.admin) "exposeControl" false) -}}
{{- $_ := set $values "localization" (dict "enabled" false) -}}
{{- $_ := set $values "storage" (set (deepCopy $own.storage) "overlap" false) -}}
{{- $account := include "slipway.serviceAccountName" (dict "values" $root.Values.serviceAccount "default" (include "slipway.fullname" $root)) -}}
{{- $_ := set $values "serviceAccount" (dict "create" false "name" $account) -}}
{{- /* Clients find the same paths and limits at an edge, unless its values say otherwise. */ -}}
{{- $server := deepCopy $root.Values.server.config -}}
{{- include "slipway.patch" (dict "base" $server "patch" $own.server.config) -}}
{{- $_ := set $values "server" (set (deepCopy $own.server) "config" $server) -}}
{{- $daemon := deepCopy $own.daemon -}}
{{- include "slipway.followOrigin" (dict "root" $root "config" $daemon.config) -}}
{{- $_ := set $values "daemon" $daemon -}}
{{- range $key := list "Chart" "Release" "Files" "Capabilities" "Template" }}{{ $_ := set $.edge $key (index $root $key) }}{{ end -}}
{{- $_ := set .edge "Component" "edge" -}}
{{- $_ := set .edge "Values" $values -}}
{{- $_ := set .edge "Origin" (dict
  "service" (include "slipway.fullname" $root)
  "port" (include "slipway.httpPort" $root)
  "selector" (include "slipway.selectorLabels" (dict "root" $root) | fromYaml)
  "signingSecret" (include "slipway.signingSecret" $root)
  "publicKeys" $root.Values.signing.publicKeys
  "token" (empty $own.originToken.secret | ternary dict $own.originToken)
) -}}
{{- $pod := deepCopy $own.pod -}}
{{- if not $pod.topologySpreadConstraints -}}
{{- $labels := dict "matchLabels" (include "slipway.selectorLabels" (dict "root" .edge) | fromYaml) -}}
{{- $zones := dict "maxSkew" 1 "topologyKey" "topology.kubernetes.io/zone" "whenUnsatisfiable" "ScheduleAnyway" "labelSelector" $labels -}}
{{- $_ := set $pod "topologySpreadConstraints" (list $zones) -}}
{{- end -}}
{{- $_ := set $values "pod" $pod -}}
{{- end -}}

{{/*
Lets the daemon of an edge follow the origin of the release. It uses the Service that also leads to a pod that is not ready, because an
origin whose release was withdrawn is not ready, and edges must learn of that. Call with a dict of root and config, which is changed.
*/}}
{{- define "slipway.followOrigin" -}}
{{- $upstream := deepCopy (default dict .config.upstream) -}}
{{- $slipway := deepCopy (default dict $upstream.slipway) -}}
{{- $keys := list -}}
{{- range .root.Values.signing.publicKeys -}}{{- $keys = append $keys (printf "/etc/slipway/origin/%s" .) -}}{{- end -}}
{{- $_ := set $slipway "url" (printf "http://%s-admin.%s.svc" (include "slipway.fullname" .root) .root.Release.Namespace) -}}
{{- $_ := set $slipway "trustedKeys" $keys -}}
{{- if .root.Values.edge.originToken.secret -}}
{{- $_ := set $slipway "tokenFile" "/etc/slipway/origin/token/value" -}}
{{- end -}}
{{- $_ := set $upstream "kind" "slipway" -}}
{{- $_ := set $upstream "slipway" $slipway -}}
{{- $_ := set .config "upstream" $upstream -}}
{{- end -}}

{{/* Rejects contradictory values of edges and says what to do instead. */}}
{{- define "slipway.checkEdges" -}}
{{- $v := .Values -}}
{{- range $route := list "ingress" "httpRoute" -}}
{{- if and (eq (get $v $route).backend "edge") (not $v.edge.enabled) -}}
{{- fail (printf "%s.backend is edge, but edge.enabled is false: no pod would answer. Set edge.enabled to true, or %s.backend to origin" $route $route) -}}
{{- end -}}
{{- end -}}
{{- if $v.edge.enabled -}}
{{- if include "slipway.severalPods" . -}}
{{- fail "edge.enabled with several pods of the origin: each of them attests by itself, and an edge takes the older of two attestations for a step back. Set replicas to 1 and autoscaling.enabled to false; edge.replicas and edge.autoscaling make more edges" -}}
{{- end -}}
{{- if and (eq (dig "auth" "public" "open" $v.server.config) "token") (not $v.edge.originToken.secret) -}}
{{- fail "server.config.auth.public is token, but edges have no token for the origin: set edge.originToken.secret to a Secret that has one of server.config.auth.tokens" -}}
{{- end -}}
{{- with $v.edge.autoscaling -}}
{{- if and .enabled (gt (int .minReplicas) (int .maxReplicas)) -}}
{{- fail "edge.autoscaling.minReplicas is greater than edge.autoscaling.maxReplicas: raise maxReplicas" -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
