import { useData, withBase } from 'vitepress';
import { defineComponent, h, onMounted, ref, watch } from 'vue';

let drawn = 0;

/** A diagram of mermaid, in the colours of the page. Before it is drawn, and without scripts, it is its source. */
export const Diagram = defineComponent({
  props: { code: { type: String, required: true } },
  setup({ code }) {
    const source = decodeURIComponent(code);
    const { isDark } = useData();
    const picture = ref('');
    const draw = async () => {
      const { default: mermaid } = await import(/* @vite-ignore */ withBase('/mermaid/mermaid.esm.min.mjs'));
      mermaid.initialize({
        startOnLoad: false,
        securityLevel: 'strict',
        theme: isDark.value ? 'dark' : 'neutral',
      });
      drawn += 1;
      picture.value = (await mermaid.render(`diagram-${drawn}`, source)).svg;
    };
    onMounted(() => {
      void draw();
      watch(isDark, () => void draw());
    });
    return () =>
      picture.value === ''
        ? h('pre', { class: 'diagram' }, source)
        : h('div', { class: 'diagram', innerHTML: picture.value });
  },
});
