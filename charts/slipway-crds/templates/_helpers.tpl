{{/* Beginning of the names of objects. */}}
{{- define "slipway-crds.fullname" -}}
{{- .Release.Name -}}
{{- end -}}

{{/* Annotations of an object with their key, or nothing. Call with a dict of root. */}}
{{- define "slipway-crds.annotations" -}}
{{- with .root.Values.commonAnnotations -}}
annotations: {{- toYaml . | nindent 2 }}
{{- end -}}
{{- end -}}

{{/*
Labels of every object. Call with a dict of root and, for more labels, more. The component is the one that the chart slipway gives the
same objects.
*/}}
{{- define "slipway-crds.labels" -}}
{{- toYaml (mergeOverwrite (dict
  "helm.sh/chart" (printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_")
  "app.kubernetes.io/version" .root.Chart.AppVersion
  "app.kubernetes.io/managed-by" .root.Release.Service
  "app.kubernetes.io/part-of" "slipway"
) .root.Values.commonLabels (default dict .more) (dict
  "app.kubernetes.io/name" .root.Chart.Name
  "app.kubernetes.io/instance" .root.Release.Name
  "app.kubernetes.io/component" "crd"
)) -}}
{{- end -}}
