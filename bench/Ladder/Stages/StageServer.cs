using System.Net;
using System.Net.Sockets;
using System.Text;

namespace RedKite.Ladder.Stages;

/// <summary>The common part of all stages: a loopback listener, and a task per client.</summary>
internal sealed class StageServer : IDisposable
{
    private readonly TcpListener _listener;
    private readonly IStage _stage;

    /// <param name="port">0: any free port.</param>
    /// <exception cref="SocketException">The port is in use.</exception>
    internal StageServer(IStage stage, int port)
    {
        _stage = stage;
        _listener = new TcpListener(IPAddress.Loopback, port);
        _listener.Start();
    }

    internal int Port => ((IPEndPoint)_listener.LocalEndpoint).Port;

    /// <summary>Accepts clients until the process ends.</summary>
    internal async Task RunAsync()
    {
        while (true)
        {
            Socket client = await _listener.AcceptSocketAsync();
            _ = Task.Run(() => ServeAsync(client));
        }
    }

    public void Dispose() => _listener.Dispose();

    private async Task ServeAsync(Socket client)
    {
        try
        {
            client.NoDelay = true;
            await using var stream = new NetworkStream(client, ownsSocket: true);
            try
            {
                await _stage.ServeAsync(stream);
            }
            catch (ProtocolException wrong)
            {
                await stream.WriteAsync(Encoding.Latin1.GetBytes($"-ERR Protocol error: {wrong.Message}\r\n"));
            }
        }
        catch (Exception left) when (left is IOException or SocketException)
        {
            // The client closed the connection during an operation.
        }
    }
}
