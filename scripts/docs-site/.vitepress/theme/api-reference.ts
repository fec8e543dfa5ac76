import { useData, withBase } from 'vitepress';
import { defineComponent, h, onMounted, onUnmounted, watch } from 'vue';

/** The OpenAPI document, in the colours of the page. It sends no request and asks no other host. */
export const ApiReference = defineComponent({
  setup() {
    const { isDark } = useData();
    const recolour = () => document.documentElement.classList.toggle('dark-mode', isDark.value);
    onMounted(async () => {
      recolour();
      watch(isDark, recolour);
      await load('link', { rel: 'stylesheet', href: withBase('/swagger/swagger-ui.css') });
      await load('script', { src: withBase('/swagger/swagger-ui-bundle.js') });
      globalThis.SwaggerUIBundle({
        dom_id: '#api-reference',
        url: withBase('/reference/openapi.yaml'),
        validatorUrl: null,
        supportedSubmitMethods: [],
        docExpansion: 'list',
        defaultModelsExpandDepth: -1,
        deepLinking: false,
      });
    });
    onUnmounted(() => document.documentElement.classList.remove('dark-mode'));
    return () => h('div', { id: 'api-reference' });
  },
});

function load(tag: string, attributes: Readonly<Record<string, string>>): Promise<void> {
  return new Promise((resolve, reject) => {
    const element = Object.assign(document.createElement(tag), attributes);
    element.addEventListener('load', () => resolve());
    element.addEventListener('error', () => reject(new Error(`${tag} cannot be loaded.`)));
    document.head.append(element);
  });
}
