/* Draws each element with data-chart (see dealsite/ask/charts.py) in the colours of the theme. Its words and its numbers
   stand in the page anyway, so without this script nothing is missing but the picture. A file of its own: it is large. */
/*! Apache ECharts, Copyright The Apache Software Foundation, Apache License 2.0 */
import { BarChart, LineChart } from "echarts/charts";
import { GridComponent, LegendComponent, TooltipComponent } from "echarts/components";
import { init, use } from "echarts/core";
import { LegacyGridContainLabel } from "echarts/features"; // containLabel
import { CanvasRenderer } from "echarts/renderers";

use([BarChart, CanvasRenderer, GridComponent, LegacyGridContainLabel, LegendComponent, LineChart, TooltipComponent]);

(() => {
  const drawn = new Map();
  const colour = (() => {
    const canvas = document.createElement("canvas");
    canvas.width = canvas.height = 1;
    const pen = canvas.getContext("2d", { willReadFrequently: true });
    // The theme speaks oklch, ECharts only knows older ways to name a colour.
    return (name, opacity = 1) => {
      pen.clearRect(0, 0, 1, 1);
      pen.fillStyle = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
      pen.fillRect(0, 0, 1, 1);
      const [red, green, blue] = pen.getImageData(0, 0, 1, 1).data;
      return `rgba(${red}, ${green}, ${blue}, ${opacity})`;
    };
  })();
  const exact = new Intl.NumberFormat(document.documentElement.lang, { maximumFractionDigits: 2 });
  const short = new Intl.NumberFormat(document.documentElement.lang, { notation: "compact", maximumFractionDigits: 1 });

  const options = (chart, small) => {
    const text = colour("--color-base-content");
    const muted = colour("--muted");
    const line = colour("--color-base-300");
    const lying = chart.kind === "bar" && (chart.labels.length > 8 || chart.labels.some((label) => label.length > 14));
    const several = chart.series.filter((one) => !one.is_dashed).length > 1; // what a dashed line is stands beside the chart
    const names = {
      type: "category",
      data: chart.labels,
      inverse: lying,
      axisLine: { lineStyle: { color: line } },
      axisTick: { show: false },
      axisLabel: { color: muted, hideOverlap: true, ...(lying ? { width: 130, overflow: "truncate" } : {}) },
    };
    const numbers = {
      type: "value",
      splitNumber: small ? 2 : 5,
      splitLine: { lineStyle: { color: line } },
      axisLabel: { color: muted, formatter: (value) => short.format(value) },
    };
    return {
      animation: false,
      color: ["--color-secondary", "--color-info", "--color-success", "--color-warning"].map((name) => colour(name)),
      textStyle: { fontFamily: getComputedStyle(document.body).fontFamily, color: text },
      grid: { left: 8, right: 16, top: several ? 36 : 12, bottom: 8, containLabel: true },
      legend: { show: several, top: 0, textStyle: { color: text } },
      tooltip: {
        trigger: "axis",
        renderMode: "richText", // HTML would bring styles that the content security policy refuses
        confine: true,
        backgroundColor: colour("--color-base-100"),
        borderColor: line,
        textStyle: { color: text },
        axisPointer: { type: chart.kind === "bar" ? "shadow" : "line" },
        valueFormatter: (value) => (value == null ? "–" : exact.format(value)),
      },
      xAxis: lying ? numbers : names,
      yAxis: lying ? names : numbers,
      series: chart.series.map((one, number) => ({
        name: one.name,
        type: chart.kind,
        data: one.values,
        barMaxWidth: 36,
        symbol: "circle",
        symbolSize: 5,
        showSymbol: chart.labels.length <= 40 && !small,
        lineStyle: one.is_dashed ? { width: 1.5, type: "dashed", color: muted } : { width: 2 },
        areaStyle: chart.kind === "line" && number === 0 && !several ? { opacity: 0.1 } : undefined,
        itemStyle: chart.kind === "bar" ? { borderRadius: lying ? [0, 4, 4, 0] : [4, 4, 0, 0] } : {},
      })),
    };
  };

  const sizes = new ResizeObserver((entries) => {
    for (const entry of entries) drawn.get(entry.target)?.resize();
  });

  const draw = (element) => {
    const chart = JSON.parse(element.dataset.chart);
    const small = element.classList.contains("chart-small");
    element.hidden = false;
    let picture = drawn.get(element);
    if (!picture) {
      picture = init(element);
      drawn.set(element, picture);
      sizes.observe(element);
    }
    picture.setOption(options(chart, small), { notMerge: true });
    element.dataset.drawn = "";
  };

  const drawAll = (root) => {
    for (const [element, picture] of drawn) {
      if (element.isConnected) continue;
      picture.dispose();
      sizes.unobserve(element);
      drawn.delete(element);
    }
    for (const element of root.querySelectorAll("[data-chart]")) draw(element);
  };

  const again = () => requestAnimationFrame(() => drawAll(document));
  new MutationObserver(again).observe(document.documentElement, { attributeFilter: ["data-theme"] });
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
  document.addEventListener("htmx:load", (event) => drawAll(event.detail.elt.parentNode ?? document));
  drawAll(document);
})();
