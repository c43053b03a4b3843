using System.Globalization;
using System.Net.Sockets;
using RedKite.TestSupport;

namespace RedKite.EndToEnd.Tests.Clusters;

/// <summary>
/// Asks one node alone, whether the slots are its own or not, and never twice: so what it writes down says who has answered, by which epoch, and what was refused.
/// Those of all nodes use the same keys.
/// </summary>
internal sealed class DirectClient : IDisposable
{
    private const int PauseMs = 20;
    private const int TimeoutMs = 1_500;
    private const int ValuesCount = 4;
    private const int PushesPerList = 300;

    // Replies after which it is known that nothing was executed.
    private static readonly string[] Refusals = ["MOVED", "ASK", "CLUSTERDOWN", "TRYAGAIN", "LOADING", "MASTERDOWN", "READONLY", "MISCONF", "OOM"];

    private readonly CancellationTokenSource _end = new();
    private readonly ClusterHistory _history;
    private readonly ClusterNodes _nodes;
    private readonly int _node;
    private readonly string _name;
    private readonly Random _random;
    private readonly Thread _thread;

    internal DirectClient(ClusterNodes nodes, ClusterHistory history, int node, int seed)
    {
        (_nodes, _history, _node, _name, _random) = (nodes, history, node, string.Create(CultureInfo.InvariantCulture, $"direct{node}"), new Random(seed));
        _thread = new Thread(Work) { IsBackground = true };
        _thread.Start();
    }

    internal void Stop()
    {
        _end.Cancel();
        _thread.Join();
    }

    public void Dispose()
    {
        Stop();
        _end.Dispose();
    }

    private void Work()
    {
        int number = 0;
        while (!_end.IsCancellationRequested)
        {
            try
            {
                using RespConnection client = _nodes.Connect(_node, TimeoutMs);
                while (!_end.IsCancellationRequested)
                {
                    Operate(client, ++number);
                    _end.Token.WaitHandle.WaitOne(PauseMs);
                }
            }
            catch (Exception failure) when (failure is SocketException or IOException)
            {
                _end.Token.WaitHandle.WaitOne(5 * PauseMs);
            }
        }
    }

    private void Operate(RespConnection client, int number)
    {
        string value = string.Create(CultureInfo.InvariantCulture, $"{_name}:{number}"), key = string.Create(CultureInfo.InvariantCulture, $"direct:v:{_random.Next(ValuesCount)}");
        string list = string.Create(CultureInfo.InvariantCulture, $"direct:l:{number / PushesPerList}");
        switch (_random.Next(10))
        {
            case < 4:
                Run(client, key, "set", value, $"SET {key} {value}");
                break;
            case < 6:
                Run(client, list, "push", value, $"RPUSH {list} {value}");
                break;
            case < 9:
                Run(client, key, "get", "-", $"GET {key}");
                break;
            default:
                Run(client, list, "range", "-", $"LRANGE {list} 0 -1");
                break;
        }
    }

    // The epoch counts if it is the same before and after.
    private void Run(RespConnection client, string key, string kind, string value, string command)
    {
        long begin = ClusterHistory.Now, end = 0;
        string outcome = "unknown", error = "connection", epoch = "-";
        try
        {
            foreach (string each in (string[])["CLUSTER INFO", command, "CLUSTER INFO"]) client.SendCommand(each);
            string before = Epoch(Read(client));
            RespValue reply = Read(client);
            end = ClusterHistory.Now;
            if (reply.IsError)
            {
                error = reply.Text.Split(' ')[0];
                if (Refusals.Contains(error)) outcome = "failed";
            }
            else
            {
                (outcome, error) = ("ok", "-");
                if (kind == "get") value = reply.IsNull ? "-" : reply.Text;
                if (kind == "range") value = reply.Items.Count == 0 ? "-" : string.Join(',', reply.Items.Select(static item => item.Text));
            }

            string after = Epoch(Read(client));
            if (after == before) epoch = after;
        }
        finally
        {
            _history.Write(_name, key, kind, value, begin, outcome, _nodes.PlaceOf(_node).Text, epoch, error, end);
        }
    }

    private static string Epoch(RespValue info) => Hosts.HostServers.FieldOf("\n" + info.Text, "cluster_my_epoch") ?? "-";

    private static RespValue Read(RespConnection client)
    {
        RespValue reply = client.Read();
        return reply.IsClosed || reply.IsTimeout ? throw new IOException("no reply") : reply;
    }
}
