{{- define "larder.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}{{ else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "larder.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "larder.labels" -}}
{{ include "larder.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "larder.secret" -}}
{{ .Values.auth.existingSecret | default (include "larder.name" .) }}
{{- end }}

{{- /* A StatefulSet: of the primary, or of the replicas. Called with "root", "role" and "count". */ -}}
{{- define "larder.servers" -}}
{{- $name := include "larder.name" .root }}
apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: {{ $name }}-{{ .role }}
  labels:
    {{- include "larder.labels" .root | nindent 4 }}
    app.kubernetes.io/component: {{ .role }}
spec:
  serviceName: {{ $name }}-{{ .role }}
  replicas: {{ .count }}
  podManagementPolicy: Parallel
  selector:
    matchLabels:
      {{- include "larder.selector" .root | nindent 6 }}
      app.kubernetes.io/component: {{ .role }}
  template:
    metadata:
      labels:
        {{- include "larder.selector" .root | nindent 8 }}
        app.kubernetes.io/component: {{ .role }}
      annotations:
        # A change of the file restarts the servers.
        checksum/config: {{ .root.Values.config | sha256sum }}
        {{- with .root.Values.podAnnotations }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
    spec:
      terminationGracePeriodSeconds: {{ .root.Values.terminationGracePeriodSeconds }}
      automountServiceAccountToken: false
      {{- with .root.Values.imagePullSecrets }}
      imagePullSecrets:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      securityContext:
        runAsNonRoot: true
        runAsUser: 999
        runAsGroup: 999
        fsGroup: 999
        seccompProfile:
          type: RuntimeDefault
      containers:
        - name: larder
          image: "{{ .root.Values.image.repository }}:{{ .root.Values.image.tag | default .root.Chart.AppVersion }}"
          imagePullPolicy: {{ .root.Values.image.pullPolicy }}
          # The configuration file may contain anything but these: probes and services rely on them.
          args:
            - /etc/larder/larder.conf
            - --port
            - "6379"
            - --dir
            - /data
            - --metrics-port
            - "9121"
            - --metrics-bind
            - "*"
            - --requirepass
            - $(LARDERCLI_AUTH)
            - --primaryauth
            - $(LARDERCLI_AUTH)
            {{- if eq .role "replica" }}
            - --replicaof
            - {{ $name }}-primary-0.{{ $name }}-primary
            - "6379"
            {{- end }}
          env:
            - name: LARDERCLI_AUTH
              valueFrom:
                secretKeyRef:
                  name: {{ include "larder.secret" .root }}
                  key: password
          ports:
            - name: redis
              containerPort: 6379
            - name: metrics
              containerPort: 9121
          # A server that loads its data is alive, and not ready.
          livenessProbe:
            exec:
              command: ["/larder-server", "--health"]
            periodSeconds: 10
            timeoutSeconds: 6
          readinessProbe:
            httpGet:
              path: /healthz
              port: metrics
            periodSeconds: 5
          resources:
            {{- toYaml .root.Values.resources | nindent 12 }}
          securityContext:
            allowPrivilegeEscalation: false
            readOnlyRootFilesystem: true
            capabilities:
              drop: [ALL]
          volumeMounts:
            - name: data
              mountPath: /data
            - name: config
              mountPath: /etc/larder
              readOnly: true
      {{- with .root.Values.nodeSelector }}
      nodeSelector:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .root.Values.tolerations }}
      tolerations:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .root.Values.affinity }}
      affinity:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      volumes:
        - name: config
          configMap:
            name: {{ $name }}
        {{- if not .root.Values.persistence.enabled }}
        - name: data
          emptyDir: {}
        {{- end }}
  {{- if .root.Values.persistence.enabled }}
  volumeClaimTemplates:
    - metadata:
        name: data
      spec:
        accessModes: [ReadWriteOnce]
        {{- with .root.Values.persistence.storageClass }}
        storageClassName: {{ . }}
        {{- end }}
        resources:
          requests:
            storage: {{ .root.Values.persistence.size }}
  {{- end }}
{{- end }}

{{- /* A Service. Called with "root", "role", and "headless" or not. */ -}}
{{- define "larder.service" -}}
{{- $name := include "larder.name" .root }}
apiVersion: v1
kind: Service
metadata:
  name: {{ if .headless }}{{ $name }}-{{ .role }}{{ else if eq .role "primary" }}{{ $name }}{{ else }}{{ $name }}-read{{ end }}
  labels:
    {{- include "larder.labels" .root | nindent 4 }}
    app.kubernetes.io/component: {{ .role }}
    larder/headless: {{ .headless | quote }}
spec:
  {{- if .headless }}
  clusterIP: None
  # Replicas find a primary that is still loading.
  publishNotReadyAddresses: true
  {{- else }}
  type: {{ .root.Values.service.type }}
  {{- end }}
  selector:
    {{- include "larder.selector" .root | nindent 4 }}
    app.kubernetes.io/component: {{ .role }}
  ports:
    - name: redis
      port: {{ if .headless }}6379{{ else }}{{ .root.Values.service.port }}{{ end }}
      targetPort: redis
    {{- if .headless }}
    - name: metrics
      port: 9121
      targetPort: metrics
    {{- end }}
{{- end }}
