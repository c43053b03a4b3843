using System.Diagnostics;
using System.Globalization;
using System.IO.Compression;
using System.Text.Json;
using System.Text.RegularExpressions;
using RedKite.TestSupport;

namespace RedKite.EndToEnd.Tests;

/// <summary>
/// Causes of findings that a server in a process of its own suffers: it is stopped, or runs short of disk, files, memory or CPU. And those that a host
/// brings about for the server in it, while no other test runs.
/// </summary>
[Alone]
public sealed class FindingProvocationTests
{
    private const int PatienceMs = 60_000;

    private const long ContainerBytes = 512 << 20;

    // Of the finding io-pressure.
    private const double IoPressurePercentMin = 30;

    [Fact]
    public void Stalled_process()
    {
        using ServerProcess server = ServerProcess.Start(ServerProgram.UnderTest);
        using RespConnection client = server.Connect();
        AssertFound(client, "process-stalled", () =>
        {
            server.Signal("STOP");
            Thread.Sleep(1500); // more than the second of a machine that others keep busy
            server.Signal("CONT");
        });

        // It is on the timeline, too, and concerns all clients.
        using ZipArchive package = new(new MemoryStream(client.Run("DEBUG PACKAGE LOG 0").Payload!));
        using JsonDocument timeline = JsonDocument.Parse(package.GetEntry("reports/timeline.json")!.Open());
        JsonElement stall = timeline.RootElement.EnumerateArray().Last(item => item.GetProperty("kind").GetString() == "stall" && item.GetProperty("microseconds").GetInt64() > 400_000);
        Assert.Equal(0, stall.GetProperty("client_id").GetInt64());
    }

    // The limit of the running process is lowered to little more than it has open. What is left suffices for the files that the runtime
    // still opens: the clients have most of them, and the start is over.
    [Fact]
    public async Task Process_that_can_open_hardly_any_more_files()
    {
        Assert.SkipUnless(File.Exists("/usr/bin/prlimit"), "this machine has no prlimit");
        using ServerProcess server = ServerProcess.Start(ServerProgram.UnderTest);
        Assert.True(server.WaitForOutput("Dashboard on", PatienceMs), string.Join('\n', server.Output));
        RespConnection[] clients = [.. Enumerable.Range(0, 500).Select(_ => server.Connect())];
        try
        {
            foreach (RespConnection client in clients) client.Run("PING").IsSimple("PONG");
            AssertObserved(clients[0]);
            int open = Directory.EnumerateFileSystemEntries($"/proc/{server.Id}/fd").Count();
            string limit = (open + (open / 12)).ToString(CultureInfo.InvariantCulture);
            (await ChildProgram.Run("prlimit", ["--pid", server.Id.ToString(CultureInfo.InvariantCulture), $"--nofile={limit}:"])).Succeeded();
            AssertFound(clients[0], "open-files", () => Thread.Sleep(100));
            Assert.Contains($" of {limit} are open", clients[0].Run("INFO findings").Text, StringComparison.Ordinal);
        }
        finally
        {
            foreach (RespConnection client in clients) client.Dispose();
        }
    }

    [Fact]
    public async Task Disk_that_is_nearly_full()
    {
        string folder = Directory.CreateTempSubdirectory("redkite-disk-").FullName;
        try
        {
            string[] mount = ["-rm", "sh", "-c", $"mount -t tmpfs -o size=64m none {folder}"];
            if ((await ChildProgram.Run("unshare", mount)).ExitCode != 0) Assert.Skip("this machine does not permit mounting");
            using ServerProcess server = ServerProcess.StartIn($"unshare -rm sh -c 'mount -t tmpfs -o size=64m none {folder} && exec {{server}} --dir {folder}' sh $1");
            using RespConnection client = server.Connect();
            AssertFound(client, "disk-nearly-full", () => Thread.Sleep(50));
        }
        finally
        {
            Directory.Delete(folder, recursive: true);
        }
    }

    [Fact]
    public void Small_container()
    {
        (string memory, string cpu) = MakeGroups();
        try
        {
            using (ServerProcess server = ServerProcess.StartIn($"echo $$ > {memory}/cgroup.procs; echo $$ > {cpu}/cgroup.procs; exec {{server}}"))
            {
                using RespConnection client = server.Connect();
                AssertFound(client, "cpu-throttled", () => client.Run("EVAL \"local t = os.clock() while os.clock() - t < 0.1 do end\" 0"));
                LimitCpu(cpu, "-1", "max");
                string value = new('x', 1_000_000);
                int count = 0;
                AssertFound(client, "container-memory", () =>
                {
                    if (UsedBytes(memory) < ContainerBytes * 0.965) client.SendCommand($"SET key:{count++} {value}");
                    else client.SendCommand("PING");
                    client.Read();
                });
            }
        }
        finally
        {
            foreach (string group in new[] { memory, cpu }.Distinct()) RemoveGroup(group);
        }
    }

    [Fact]
    public void Machine_kept_busy_by_others()
    {
        using ServerProcess server = ServerProcess.Start(ServerProgram.UnderTest);
        using RespConnection client = server.Connect();
        Process[] burners = [.. Enumerable.Range(0, 2 * Environment.ProcessorCount).Select(_ => Process.Start("timeout", [(2 * PatienceMs / 1000).ToString(CultureInfo.InvariantCulture), "sh", "-c", "while :; do :; done"]))];
        try
        {
            AssertFound(client, "cpu-saturated", () => Thread.Sleep(100));
            if (File.Exists("/proc/pressure/cpu")) AssertFound(client, "cpu-pressure", () => Thread.Sleep(100));
        }
        finally
        {
            EndAll(burners);
        }
    }

    // Every write waits for the disk. Memory is faster than that: where the folder is none of a disk's, or the disk is quick, the pressure stays low.
    [Fact]
    public void Disk_kept_busy_by_others()
    {
        Assert.SkipUnless(File.Exists("/proc/pressure/io"), "this kernel does not measure the pressure on disks");
        using ServerProcess server = ServerProcess.Start(ServerProgram.UnderTest);
        using RespConnection client = server.Connect();
        string seconds = (2 * PatienceMs / 1000).ToString(CultureInfo.InvariantCulture);
        Process[] writers = [.. Enumerable.Range(0, 4 * Environment.ProcessorCount).Select(i => Process.Start("timeout", [seconds, "sh", "-c", $"while :; do dd if=/dev/zero of={server.Folder}/writer-{i} bs=4k count=1000 oflag=dsync conv=notrunc 2> {server.Folder}/errors || exit; done"]))];
        try
        {
            // The mean of ten seconds rises for that long.
            double pressure = 0;
            for (int i = 0; i < 15 && pressure <= IoPressurePercentMin; i++)
            {
                Thread.Sleep(1000);
                pressure = Math.Max(pressure, IoPressurePercent());
            }

            Assert.SkipWhen(pressure <= IoPressurePercentMin, $"writers that wait for the disk caused a pressure of {pressure} %, the finding needs {IoPressurePercentMin}");
            bool staysHigh = true;
            AssertFound(client, "io-pressure", () =>
            {
                Thread.Sleep(200);
                staysHigh &= IoPressurePercent() > IoPressurePercentMin;
            }, () => Assert.SkipWhen(!staysHigh, "the pressure on the disk did not stay high for as long as the finding needs"));
        }
        finally
        {
            EndAll(writers);
        }
    }

    [Fact]
    public async Task Host_that_collects_garbage()
    {
        await using RedKiteServer server = await RedKiteServer.StartAsync(new RedKiteOptions { Port = 0 }, TestContext.Current.CancellationToken);
        var graph = new List<object[]>();
        for (int i = 0; i < 2_000_000; i++) graph.Add([i]);
        AssertFound(() => server.Execute("INFO", "findings").Text!, "gc-pauses", () =>
        {
            GC.Collect();
            Thread.Sleep(100); // who only collects lets no other thread allocate
        });
        GC.KeepAlive(graph);
    }

    [Fact]
    public async Task Host_with_a_large_heap()
    {
        await using RedKiteServer server = await RedKiteServer.StartAsync(new RedKiteOptions { Port = 0 }, TestContext.Current.CancellationToken);
        byte[][] arrays = [.. Enumerable.Range(0, 10).Select(_ => new byte[64 << 20])];
        foreach (byte[] array in arrays) Array.Fill(array, (byte)1);
        AssertFound(() => server.Execute("INFO", "findings").Text!, "managed-heap-large", () => Thread.Sleep(100));
        GC.KeepAlive(arrays);
    }

    [Fact]
    public async Task Host_that_blocks_the_thread_pool()
    {
        await using RedKiteServer server = await RedKiteServer.StartAsync(new RedKiteOptions { Port = 0 }, TestContext.Current.CancellationToken);
        using var found = new ManualResetEventSlim();
        using var ended = new CountdownEvent(1_000);
        for (int i = 0; i < 1_000; i++)
        {
            ThreadPool.UnsafeQueueUserWorkItem(_ =>
            {
                found.Wait();
                ended.Signal();
            }, null);
        }

        try
        {
            AssertFound(() => server.Execute("INFO", "findings").Text!, "threadpool-starved", () => Thread.Sleep(100));
        }
        finally
        {
            found.Set();
            ended.Wait(TestContext.Current.CancellationToken);
        }
    }

    // Groups of control of their own, in version 1 one for each controller; without the right to make them the test is skipped.
    private static (string Memory, string Cpu) MakeGroups()
    {
        const string root = "/sys/fs/cgroup";
        string name = $"redkite-test-{Environment.ProcessId}";
        bool isVersion1 = Directory.Exists($"{root}/memory");
        string memory = isVersion1 ? $"{root}/memory/{name}" : $"{root}/{name}";
        string cpu = isVersion1 ? $"{root}/cpu/{name}" : memory;
        try
        {
            Directory.CreateDirectory(memory);
            Directory.CreateDirectory(cpu);
            File.WriteAllText(memory + (isVersion1 ? "/memory.limit_in_bytes" : "/memory.max"), ContainerBytes.ToString(CultureInfo.InvariantCulture));
            LimitCpu(cpu, "60000", "60000 100000");
            return (memory, cpu);
        }
        catch (Exception failure) when (failure is IOException or UnauthorizedAccessException)
        {
            foreach (string group in new[] { memory, cpu }.Distinct().Where(Directory.Exists)) RemoveGroup(group);
            Assert.Skip($"no control group can be made: {failure.Message}");
            throw;
        }
    }

    private static void LimitCpu(string group, string quotaOfVersion1, string max)
    {
        if (File.Exists(group + "/cpu.max")) File.WriteAllText(group + "/cpu.max", max);
        else File.WriteAllText(group + "/cpu.cfs_quota_us", quotaOfVersion1);
    }

    // What the kernel cannot drop.
    private static long UsedBytes(string group)
    {
        string line = File.ReadLines($"{group}/memory.stat").First(line => line.StartsWith("total_rss ", StringComparison.Ordinal) || line.StartsWith("anon ", StringComparison.Ordinal));
        return long.Parse(line.AsSpan(line.IndexOf(' ', StringComparison.Ordinal)), CultureInfo.InvariantCulture);
    }

    // The kernel takes a moment to forget a process that has ended. Only the folder itself can be removed, its files are the kernel's.
    private static void RemoveGroup(string group)
    {
        var clock = Stopwatch.StartNew();
        while (true)
        {
            try
            {
                Directory.Delete(group);
                return;
            }
            catch (IOException) when (clock.ElapsedMilliseconds < 10_000)
            {
                Thread.Sleep(50);
            }
        }
    }

    // The server has looked at itself at least once, so that all that takes is loaded.
    private static void AssertObserved(RespConnection client)
    {
        var clock = Stopwatch.StartNew();
        while (!Regex.IsMatch(client.Run("INFO metrics").Text, "process_open_files_max:[1-9]"))
        {
            Assert.True(clock.ElapsedMilliseconds < PatienceMs, "it is observed");
            Thread.Sleep(50);
        }
    }

    private static void AssertFound(RespConnection client, string name, Action provoke, Action? failing = null) => AssertFound(() => client.Run("INFO findings").Text!, name, provoke, failing);

    // The share of the last ten seconds in which something waited for a disk.
    private static double IoPressurePercent()
    {
        string some = File.ReadLines("/proc/pressure/io").First();
        return double.Parse(Regex.Match(some, "avg10=([0-9.]+)").Groups[1].ValueSpan, CultureInfo.InvariantCulture);
    }

    private static void EndAll(Process[] processes)
    {
        foreach (Process process in processes)
        {
            process.Kill(entireProcessTree: true);
            process.Dispose();
        }
    }

    private static void AssertFound(Func<string> findingsOf, string name, Action provoke, Action? failing = null)
    {
        var clock = Stopwatch.StartNew();
        while (true)
        {
            string findings = findingsOf();
            if (findings.Contains($"finding_{name}:", StringComparison.Ordinal)) return;
            if (clock.ElapsedMilliseconds >= PatienceMs) failing?.Invoke();
            Assert.True(clock.ElapsedMilliseconds < PatienceMs, $"{name} was not found; found: {findings}");
            provoke();
        }
    }
}
