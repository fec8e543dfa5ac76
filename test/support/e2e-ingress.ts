import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { E2eCluster } from './e2e-cluster.ts';

/** One rule of an Ingress. */
export interface IngressRule {
  readonly host: string;
  readonly http: { readonly paths: ReadonlyArray<{ readonly path: string; readonly pathType: string }> };
}

/** An nginx that behaves as ingress-nginx does for these paths and for the annotations of the chart. */
export async function startIngress(
  { enter, directory }: E2eCluster,
  paths: IngressRule['http']['paths'],
  service: string,
): Promise<{ readonly address: string; readonly stop: () => Promise<void> }> {
  const address = '10.244.0.1:8088';
  const locations = paths.map(({ path, pathType }) => {
    const match = pathType === 'Exact' ? `= ${path}` : path;
    return `location ${match} { proxy_pass http://${service}; proxy_buffering off; proxy_http_version 1.1; proxy_max_temp_file_size 0; }`;
  });
  const configuration = join(directory, 'nginx.conf');
  await writeFile(
    configuration,
    `daemon off; pid ${directory}/nginx.pid; error_log stderr;
events {}
http {
  access_log off; client_body_temp_path ${directory}/body; proxy_temp_path ${directory}/proxy;
  fastcgi_temp_path ${directory}/fastcgi; uwsgi_temp_path ${directory}/uwsgi; scgi_temp_path ${directory}/scgi;
  server {
    listen ${address};
    ${locations.join('\n    ')}
    location / { add_header x-closed yes always; return 404; }
  }
}
`,
  );
  const [command, ...args] = [...(enter ?? []), 'nginx', '-p', directory, '-c', configuration];
  const nginx = spawn(command, args, { stdio: 'inherit' });
  const exited = once(nginx, 'exit');
  return {
    address,
    stop: async () => {
      nginx.kill('SIGTERM');
      await exited;
    },
  };
}
