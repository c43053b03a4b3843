using System.Net;
using System.Net.Sockets;
using RedKite.Net;
using RedKite.Server.Config;

namespace RedKite.Server.Loops;

/// <summary>
/// The server's listeners, according to the settings bind, port, tls-port and unixsocket, of which the first three can change at
/// run time. They change at the start, later under the configuration's lock, and at the end, never by two threads at a time; each
/// change is a new array, so that any thread may read.
/// </summary>
internal sealed class Endpoints(Settings settings, Func<ByteLayer> newTls) : IDisposable
{
    private volatile Endpoint[] _endpoints = [];
    private bool _systemChosePort;

    /// <summary>The TCP port; 0 when there is none.</summary>
    internal int Port { get; private set; }

    /// <summary>The TCP port for TLS; 0 when there is none.</summary>
    internal int TlsPort { get; private set; }

    internal IEnumerable<ListeningSocket> Sockets => _endpoints.Select(endpoint => endpoint.Socket);

    /// <summary>Listens on everything that the settings name.</summary>
    /// <exception cref="RedKiteConfigException">An address cannot be used; the one-line message says which.</exception>
    internal void Open()
    {
        // Port 0 lets the system choose, except next to another way in, where the directive means that there is none of this kind.
        bool isOnlyWay = settings.UnixSocketPath.Length == 0 && settings.TlsPort == 0 && !settings.HasNoPort;
        if (settings.Port != 0 || (settings.Bind.Count > 0 && (settings.TakesFreePort || isOnlyWay))) OpenTcp(settings.Port, isTls: false);
        if (settings.TlsPort != 0) OpenTcp(settings.TlsPort, isTls: true);
        _systemChosePort = settings.Port == 0 && Port != 0;
        if (settings.UnixSocketPath.Length == 0) return;
        string path = Path.Combine(settings.DirectoryPath, settings.UnixSocketPath);
        try
        {
            Add("", ListeningSocket.Unix(path, settings.UnixSocketMode, settings.TcpBacklog));
        }
        catch (Exception failure) when (failure is SocketException or IOException or UnauthorizedAccessException or ArgumentException)
        {
            throw new RedKiteConfigException($"cannot listen on the Unix socket {path}: {(failure is ArgumentException ? "the path is too long" : failure.Message)}", failure);
        }
    }

    /// <summary>
    /// Applies changed values of bind and port. Listeners that stay the same are not touched. If that fails, everything stays as it
    /// was: another port is opened before the old one is closed, which another process might take; on the same port what goes is
    /// closed first, because an address may overlap with its successor.
    /// </summary>
    /// <param name="acceptors">The loops that accept connections; they are notified of the change.</param>
    /// <param name="isTls">Whether the port for TLS is meant.</param>
    /// <returns>Null, or one line that says what failed.</returns>
    internal string? ReopenTcp(IEnumerable<EventLoop> acceptors, bool isTls)
    {
        int oldPort = isTls ? TlsPort : Port;
        int port = isTls ? settings.TlsPort : settings.Port == 0 && _systemChosePort ? oldPort : settings.Port;
        List<Endpoint> goes = [.. _endpoints.Where(endpoint => !endpoint.IsUnix && endpoint.IsTls == isTls && !(endpoint.Socket.Port == port && settings.Bind.Contains(endpoint.Bind)))];
        List<Endpoint> closed = goes.FindAll(endpoint => endpoint.Socket.Port == port);
        Endpoint[] before = _endpoints;
        foreach (Endpoint endpoint in closed) Stop(endpoint);
        string? error = null;
        try
        {
            if (port != 0) OpenTcp(port, isTls);
            else SetPort(0, isTls);
            _systemChosePort &= settings.Port == 0;
            foreach (Endpoint endpoint in goes.Except(closed)) Stop(endpoint);
            closed = goes;
        }
        catch (RedKiteConfigException failure)
        {
            error = failure.Message;
            foreach (Endpoint endpoint in _endpoints.Except(before).ToArray())
            {
                Stop(endpoint);
                endpoint.Socket.Dispose(); // no loop knows of it
            }

            foreach (Endpoint endpoint in closed) Restore(endpoint, oldPort);
            SetPort(oldPort, isTls);
        }

        ListeningSocket[] opened = [.. _endpoints.Except(before).Select(endpoint => endpoint.Socket)];
        foreach (EventLoop acceptor in acceptors)
        {
            acceptor.Post(() =>
            {
                foreach (Endpoint endpoint in closed) acceptor.StopListening(endpoint.Socket);
                foreach (ListeningSocket socket in opened) acceptor.Listen(socket);
            });
        }

        return error;
    }

    /// <summary>Each listener as INFO shows it: "name=tcp,bind=*,bind=-::*,port=6379".</summary>
    internal IEnumerable<string> Describe()
    {
        if (Port != 0) yield return $"name=tcp{string.Concat(settings.Bind.Select(bind => ",bind=" + bind))},port={Port}";
        if (TlsPort != 0) yield return $"name=tls{string.Concat(settings.Bind.Select(bind => ",bind=" + bind))},port={TlsPort}";
        foreach (Endpoint endpoint in _endpoints)
        {
            if (endpoint.IsUnix) yield return $"name=unix,bind={endpoint.Socket.UnixPath}";
        }
    }

    public void Dispose()
    {
        foreach (ListeningSocket socket in Sockets) socket.Dispose();
        _endpoints = [];
    }

    private void OpenTcp(int port, bool isTls)
    {
        foreach (string bind in settings.Bind)
        {
            if (_endpoints.Any(endpoint => endpoint.Bind == bind && endpoint.IsTls == isTls && endpoint.Socket.Port == port)) continue;
            bool optional = bind.StartsWith('-');
            string name = optional ? bind[1..] : bind;
            try
            {
                ListeningSocket socket = ListeningSocket.Tcp(AddressOf(name), port, settings.TcpBacklog, isTls ? newTls : null);
                Add(bind, socket);
                port = socket.Port; // all addresses share one port, also where the system chose it
            }
            catch (SocketException failure)
            {
                if (optional && failure.SocketErrorCode is SocketError.AddressNotAvailable or SocketError.AddressFamilyNotSupported or SocketError.ProtocolNotSupported) continue;
                string why = failure.SocketErrorCode == SocketError.AddressAlreadyInUse ? "the port is in use" : failure.Message;
                throw new RedKiteConfigException($"cannot listen on {name}:{port}: {why}", failure);
            }
        }

        if (!_endpoints.Any(endpoint => !endpoint.IsUnix && endpoint.Socket.Port == port)) throw new RedKiteConfigException($"cannot listen on port {port}: none of the addresses of 'bind' could be used");
        SetPort(port, isTls);
    }

    private void SetPort(int port, bool isTls)
    {
        if (isTls) TlsPort = port;
        else Port = port;
    }

    private void Add(string bind, ListeningSocket socket) => _endpoints = [.. _endpoints, new Endpoint(bind, socket)];

    // Its address is free from now on; the last acceptor disposes of it when it is notified.
    private void Stop(Endpoint endpoint)
    {
        endpoint.Socket.Stop();
        _endpoints = [.. _endpoints.Where(other => other != endpoint)];
    }

    private void Restore(Endpoint closed, int port)
    {
        string name = closed.Bind.TrimStart('-');
        try
        {
            Add(closed.Bind, ListeningSocket.Tcp(AddressOf(name), port, settings.TcpBacklog, closed.Socket.NewLayer));
        }
        catch (SocketException)
        {
            // Another process took the address in between: nothing listens there any more, and Describe shows the rest.
        }
    }

    private static IPAddress AddressOf(string name) => name switch
    {
        "*" => IPAddress.Any,
        "::*" => IPAddress.IPv6Any,
        "127.0.0.1" => IPAddress.Loopback, // the usual ones without the parser, which the JIT compiles
        "::1" => IPAddress.IPv6Loopback,
        _ => IPAddress.TryParse(name, out IPAddress? parsed) ? parsed : Dns.GetHostAddresses(name)[0],
    };

    private sealed record Endpoint(string Bind, ListeningSocket Socket)
    {
        internal bool IsUnix => Socket.UnixPath is not null;

        internal bool IsTls => Socket.NewLayer is not null;
    }
}
