import { h } from './dom.js';
import * as api from './api.js';
import { chart } from './charts.js';

// Facts that are a block of text are in the debug package.
const shown = text => !String(text).includes('\n');

export function machine({ zoom }) {
  const charts = [
    chart({ title: 'CPU of the machine', unit: 'percent', series: [{ metric: 'system_cpu_percent', label: 'busy' }, { metric: 'system_cpu_steal_percent', label: 'taken by the hypervisor' }], zoom }),
    chart({ title: 'CPU of the process, of one core', unit: 'cores', series: [{ metric: 'used_cpu_user', label: 'user' }, { metric: 'used_cpu_sys', label: 'system' }], zoom }),
    chart({ title: 'Tasks waited for', unit: 'percent', series: [{ metric: 'pressure_cpu_percent', label: 'a CPU' }, { metric: 'pressure_memory_percent', label: 'memory' }, { metric: 'pressure_io_percent', label: 'disks' }], zoom }),
    chart({ title: 'The container was stopped, share of time', unit: 'cores', series: [{ metric: 'cgroup_throttled_seconds', label: 'stopped' }], zoom }),
    chart({ title: 'Memory of the container', unit: 'bytes', series: [{ metric: 'cgroup_memory_used', label: 'used' }, { metric: 'cgroup_memory_limit', label: 'limit' }], zoom }),
    chart({ title: 'Swap', unit: 'bytes', series: [{ metric: 'process_swap_bytes', label: 'process' }, { metric: 'system_swap_used', label: 'machine' }], zoom }),
    chart({ title: 'Pages read from disk per second', unit: 'count', series: [{ metric: 'process_major_faults', label: 'pages' }], zoom }),
    chart({ title: 'The data folder’s disk, per second', unit: 'bytes', series: [{ metric: 'disk_read_bytes', label: 'read' }, { metric: 'disk_written_bytes', label: 'written' }], zoom }),
    chart({ title: 'Latency of the data folder’s disk', unit: 'microseconds', series: [{ metric: 'disk_read_latency', label: 'read' }, { metric: 'disk_write_latency', label: 'write' }], zoom }),
    chart({ title: 'Free on the data folder’s disk', unit: 'bytes', series: [{ metric: 'disk_free_bytes', label: 'free' }], zoom }),
    chart({ title: 'Open files and sockets', unit: 'count', series: [{ metric: 'process_open_files', label: 'open' }, { metric: 'process_open_files_max', label: 'limit' }], zoom }),
    chart({ title: 'The thread pool', unit: 'count', series: [{ metric: 'threadpool_threads', label: 'threads' }, { metric: 'threadpool_queue', label: 'waiting work items' }], zoom }),
    chart({ title: 'The clock jumped', unit: 'milliseconds', series: [{ metric: 'clock_jump_milliseconds', label: 'by' }], zoom }),
  ];
  const list = h('dl', { class: 'facts panel' });
  return {
    elements: [h('div', { class: 'charts' }, charts.map(each => each.element)), h('h2', {}, 'Machine and runtime'), list],
    charts,
    async update(signal) {
      const facts = await api.report('system', signal) ?? {};
      list.replaceChildren(...Object.entries(facts).filter(([, text]) => shown(text)).flatMap(([name, text]) => [h('dt', {}, name.replaceAll('_', ' ')), h('dd', {}, String(text))]));
    },
  };
}
