using System.Diagnostics;
using System.Globalization;
using System.Text;
using Microsoft.Win32.SafeHandles;

namespace RedKite.Server.Diagnostics;

/// <summary>
/// Reads <see cref="MachineFigures"/> from /proc and /sys. Files that do not exist (other systems, old kernels, no container) leave
/// their figures unknown. On the diagnostics thread.
/// </summary>
internal sealed class MachineReader : IDisposable
{
    private const double SectorBytes = 512; // of /proc/diskstats, whatever the disk's own are
    private const long ScarceBytes = 1L << 30; // of a disk that is nearly full, each second counts
    private const int SlowReadsEverySeconds = 10; // open files are counted one by one, connections among them
    private const int TextBytesMax = 16 * 1024;

    private readonly string _folder;
    private readonly ControlGroup _group;
    private readonly string? _disk;
    private (double Busy, double Steal, double All) _cpu;
    private DiskRequests _reading = new();
    private DiskRequests _writing = new();
    private double _diskBusyMs = double.NaN;
    private double _clockOffsetMs = double.NaN;
    private readonly Dictionary<string, SafeFileHandle?> _open = []; // to open a file each second costs several times as much as to read it
    private readonly byte[] _text = new byte[TextBytesMax];
    private int _reads;
    private double _freeBytes;
    private double _openFiles;
    private double _openFilesMax;

    /// <param name="folder">The data folder.</param>
    internal MachineReader(string folder)
    {
        _folder = folder;
        _group = new ControlGroup(Read);
        _disk = OperatingSystem.IsLinux() ? FindDisk(folder) : null;
    }

    /// <param name="stallMs">The worst delay of the sampling thread since the last call.</param>
    internal MachineFigures Read(double stallMs)
    {
        bool isSlowRead = _reads++ % SlowReadsEverySeconds == 0;
        if (isSlowRead || _freeBytes < ScarceBytes) _freeBytes = FreeBytes();
        var figures = new MachineFigures { StallMs = stallMs, ClockJumpMs = ReadClockJump(), DiskFreeBytes = _freeBytes };
        if (!OperatingSystem.IsLinux()) return figures;
        if (isSlowRead) (_openFiles, _openFilesMax) = (Net.OpenFiles.Count, Number(Word(Read("/proc/self/limits"), "Max open files", 0)));
        (double cpu, double steal) = ReadCpu();
        string memory = Read("/proc/meminfo");
        string status = Read("/proc/self/status");
        ReadDisk();
        return figures with
        {
            CpuPercent = cpu,
            StealPercent = steal,
            MemoryTotalBytes = Kibibytes(memory, "MemTotal:"),
            MemoryAvailableBytes = Kibibytes(memory, "MemAvailable:"),
            SwapUsedBytes = Kibibytes(memory, "SwapTotal:") - Kibibytes(memory, "SwapFree:"),
            SwapBytes = Kibibytes(status, "VmSwap:"),
            CpuPressure = Pressure("/proc/pressure/cpu"),
            MemoryPressure = Pressure("/proc/pressure/memory"),
            IoPressure = Pressure("/proc/pressure/io"),
            CgroupMemoryLimitBytes = _group.MemoryLimitBytes,
            CgroupMemoryBytes = _group.MemoryBytes,
            CgroupCpus = _group.Cpus,
            ThrottledSeconds = _group.ThrottledSeconds,
            DiskReadBytes = _reading.Bytes,
            DiskWrittenBytes = _writing.Bytes,
            DiskBusyMs = _diskBusyMs,
            DiskReadMicroseconds = _reading.Latency,
            DiskWriteMicroseconds = _writing.Latency,
            OpenFiles = _openFiles,
            OpenFilesMax = _openFilesMax,
            MajorFaults = ReadMajorFaults(),
        };
    }

    public void Dispose()
    {
        foreach (SafeFileHandle? file in _open.Values) file?.Dispose();
    }

    /// <summary>The type of a folder's file system, such as ext4; empty: unknown.</summary>
    internal static string FileSystemOf(string folder)
    {
        try
        {
            return new DriveInfo(Path.GetFullPath(folder)).DriveFormat;
        }
        catch (Exception failure) when (failure is IOException or UnauthorizedAccessException or ArgumentException)
        {
            return "";
        }
    }

    // How far the wall clock moved against the monotonic one since the last call.
    private double ReadClockJump()
    {
        double offset = (DateTime.UtcNow - DateTime.UnixEpoch).TotalMilliseconds - Stopwatch.GetElapsedTime(0).TotalMilliseconds;
        double jump = double.IsNaN(_clockOffsetMs) ? 0 : offset - _clockOffsetMs;
        _clockOffsetMs = offset;
        return Math.Abs(jump) < 1 ? 0 : jump;
    }

    // The first line: user, nice, system, idle, iowait, irq, softirq, steal, in ticks.
    private (double Percent, double Steal) ReadCpu()
    {
        string[] words = FirstLine(Read("/proc/stat")).Split(' ', StringSplitOptions.RemoveEmptyEntries);
        if (words.Length < 9) return (double.NaN, double.NaN);
        double all = 0;
        for (int i = 1; i <= 8; i++) all += Number(words[i]);
        double steal = Number(words[8]);
        double busy = all - Number(words[4]) - Number(words[5]);
        double elapsed = all - _cpu.All;
        (double Percent, double Steal) result = _cpu.All > 0 && elapsed > 0
            ? (100 * (busy - _cpu.Busy) / elapsed, 100 * (steal - _cpu.Steal) / elapsed)
            : (double.NaN, double.NaN);
        _cpu = (busy, steal, all);
        return result;
    }

    // "some avg10=0.12 avg60=..."
    private double Pressure(string path)
    {
        string line = FirstLine(Read(path));
        const string Mark = "avg10=";
        int start = line.IndexOf(Mark, StringComparison.Ordinal);
        if (start < 0) return double.NaN;
        int end = line.IndexOf(' ', start);
        return end < 0 ? double.NaN : Number(line[(start + Mark.Length)..end]);
    }

    // The 10th field behind the process's name.
    private double ReadMajorFaults()
    {
        string stat = Read("/proc/self/stat");
        string[] words = stat[(stat.LastIndexOf(')') + 1)..].Split(' ', StringSplitOptions.RemoveEmptyEntries);
        return words.Length > 9 ? Number(words[9]) : double.NaN;
    }

    // Reads, of them merged, sectors, milliseconds; the same of writes; requests in flight, milliseconds with any.
    private void ReadDisk()
    {
        if (_disk is null) return;
        string[] words = FirstLine(Read(_disk + "/stat")).Split(' ', StringSplitOptions.RemoveEmptyEntries);
        if (words.Length < 10) return;
        _reading.Note(Number(words[0]), Number(words[2]), Number(words[3]));
        _writing.Note(Number(words[4]), Number(words[6]), Number(words[7]));
        _diskBusyMs = Number(words[9]);
    }

    private double FreeBytes()
    {
        try
        {
            return new DriveInfo(Path.GetFullPath(_folder)).AvailableFreeSpace;
        }
        catch (Exception failure) when (failure is IOException or UnauthorizedAccessException or ArgumentException)
        {
            return double.NaN;
        }
    }

    // The disk of the mount that the folder is on: /proc/self/mountinfo has its device number.
    private static string? FindDisk(string folder)
    {
        string path = Path.GetFullPath(folder);
        string? device = null;
        int longest = -1;
        foreach (string line in ReadText("/proc/self/mountinfo").Split('\n'))
        {
            string[] words = line.Split(' ');
            if (words.Length < 5 || words[4].Length <= longest) continue;
            if (words[4] != "/" && path != words[4] && !path.StartsWith(words[4] + "/", StringComparison.Ordinal)) continue;
            (device, longest) = (words[2], words[4].Length);
        }

        string disk = "/sys/dev/block/" + device;
        return device is not null && File.Exists(disk + "/stat") ? disk : null;
    }

    private static double Kibibytes(string text, string name) => Number(Word(text, name, 0)) * 1024;

    // The word that follows a name at the start of a line.
    private static string Word(string text, string name, int index)
    {
        int start = text.StartsWith(name, StringComparison.Ordinal) ? 0 : text.IndexOf("\n" + name, StringComparison.Ordinal);
        if (start < 0) return "";
        start = text.IndexOf(name, start, StringComparison.Ordinal) + name.Length;
        int end = text.IndexOf('\n', start);
        string[] words = text[start..(end < 0 ? text.Length : end)].Split((char[])[' ', '\t'], StringSplitOptions.RemoveEmptyEntries);
        return index < words.Length ? words[index] : "";
    }

    private static string FirstLine(string text)
    {
        int end = text.IndexOf('\n', StringComparison.Ordinal);
        return end < 0 ? text : text[..end];
    }

    private static double Number(string text) => double.TryParse(text.AsSpan().Trim(), NumberStyles.Float, CultureInfo.InvariantCulture, out double number) ? number : double.NaN;

    private string Read(string path)
    {
        try
        {
            if (!_open.TryGetValue(path, out SafeFileHandle? file)) _open[path] = file = File.Exists(path) ? File.OpenHandle(path) : null;
            return file is null ? "" : Encoding.ASCII.GetString(_text.AsSpan(0, RandomAccess.Read(file, _text, fileOffset: 0)));
        }
        catch (Exception failure) when (failure is IOException or UnauthorizedAccessException or NotSupportedException)
        {
            _open.TryAdd(path, null);
            return "";
        }
    }

    private static string ReadText(string path)
    {
        try
        {
            return File.ReadAllText(path);
        }
        catch (Exception failure) when (failure is IOException or UnauthorizedAccessException)
        {
            return "";
        }
    }

    // One direction of a disk: all bytes, and how long a request of the last second took in microseconds; unknown: there was none.
    private struct DiskRequests()
    {
        private double _count = double.NaN;
        private double _ms;

        internal double Bytes { get; private set; } = double.NaN;

        internal double Latency { get; private set; } = double.NaN;

        internal void Note(double count, double sectors, double ms)
        {
            Latency = count > _count ? 1000 * (ms - _ms) / (count - _count) : double.NaN;
            (_count, _ms, Bytes) = (count, ms, sectors * SectorBytes);
        }
    }
}
